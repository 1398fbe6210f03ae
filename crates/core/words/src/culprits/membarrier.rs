//! Words about membarrier: a memory barrier requested by another process.

use super::{Advice, FindingWords, named};
use crate::voice::Share;
use archive::culprit::NamedHolders;

pub const ADVICE: Advice = Advice {
    title: "a memory barrier requested by another process",
    confirm: "ipi:ipi_send_cpumask with callback=ipi_mb names the sender; `strace -e membarrier` on it",
    fix: "keep programs with just-in-time compilers and user-space RCU off the machine, or do not register the real-time program for expedited barriers",
};

pub fn words(facts: &NamedHolders, share: Share) -> FindingWords {
    named::words(facts, share, &ADVICE, "another process requested a memory barrier")
}
