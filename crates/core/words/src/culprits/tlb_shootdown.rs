//! Words about tlb-shootdown: another CPU changed an address space.

use super::{Advice, FindingWords, named};
use crate::voice::Share;
use archive::culprit::NamedHolders;

pub const ADVICE: Advice = Advice {
    title: "another CPU changed an address space",
    confirm: "the row TLB of /proc/interrupts; the event tlb:tlb_flush; ipi:ipi_send_cpumask names the sender",
    fix: "real-time threads in a process of their own: threads that share it must not munmap, mprotect or madvise meanwhile; no NUMA balancing, KSM or transparent huge pages in it",
};

pub fn words(facts: &NamedHolders, share: Share) -> FindingWords {
    named::words(facts, share, &ADVICE, "another CPU changed an address space, and this one had to flush its TLB")
}
