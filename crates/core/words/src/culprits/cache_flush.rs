//! Words about cache-flush: all caches were flushed.

use super::{Advice, FindingWords, named};
use crate::voice::Share;
use archive::culprit::NamedHolders;

pub const ADVICE: Advice = Advice {
    title: "all caches were flushed",
    confirm: "csd:csd_function_entry with func=__wbinvd; ipi:ipi_send_cpumask names the sender",
    fix: "avoid what flushes caches: graphics drivers without coherent memory, ACPI C3 on old processors, changes of memory types (MTRR), confidential guests",
};

pub fn words(facts: &NamedHolders, share: Share) -> FindingWords {
    named::words(facts, share, &ADVICE, "the kernel wrote back and invalidated all caches")
}
