//! Another CPU changed an address space that this CPU had in use: it must flush translations.

use super::about::{About, Proof};
use super::named::{NOTHING, Named};
use crate::recognise::case::{Case, Claim};

pub const ABOUT: About = About {
    recognised: "the function flush_tlb_func, do_flush_tlb_all or do_kernel_range_flush is executed for another CPU (x86; arm64 does it without interrupts)",
    confirm: "the row TLB of /proc/interrupts; the event tlb:tlb_flush; ipi:ipi_send_cpumask names the sender",
    fix: "real-time threads in a process of their own: threads that share it must not munmap, mprotect or madvise meanwhile; no NUMA balancing, KSM or transparent huge pages in it",
    reading: &["The TLB", "Transparent Hugepage Support"],
    proof: Proof::MadeUp,
};

const NAMED: Named = Named {
    functions: &["flush_tlb_func*", "do_flush_tlb_all", "do_kernel_range_flush", "tlb_remove_table_*"],
    ..NOTHING
};

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c>> {
    NAMED.look_at_requests(case, &ABOUT, "another CPU changed an address space, and this one had to flush its TLB")
}
