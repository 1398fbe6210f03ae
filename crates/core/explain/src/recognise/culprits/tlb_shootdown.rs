//! Another CPU changed an address space that this CPU had in use: it must flush translations.

use super::about::{About, CALLED, Proof};
use crate::recognise::case::{Case, Claim};
use crate::recognise::evidence::named::{NOTHING, Named};
use archive::culprit::NamedHolders;

pub const ABOUT: About = About {
    recognised: "the function flush_tlb_func, do_flush_tlb_all or do_kernel_range_flush is executed for another CPU (x86; arm64 does it without interrupts)",
    events: CALLED,
    shows: "the function, between its entry and its exit",
    reading: &["The TLB", "Transparent Hugepage Support"],
    proof: Proof::MadeUp,
    refuted_by: &[],
};

const NAMED: Named = Named {
    functions: &["flush_tlb_func*", "do_flush_tlb_all", "do_kernel_range_flush", "tlb_remove_table_*"],
    ..NOTHING
};

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c, NamedHolders>> {
    NAMED.look_at_requests(case)
}
