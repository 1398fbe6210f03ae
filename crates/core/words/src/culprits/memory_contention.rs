//! Words about memory-contention: contention for memory or caches.

use super::slowdown::slowdown;
use super::{Advice, FindingWords};
use crate::voice::Share;
use archive::culprit::Slowdown;

pub const ADVICE: Advice = Advice {
    title: "contention for memory or caches",
    confirm: "`perf stat -e cache-misses,stalled-cycles-backend -C CPU` with and without the load; `stress-ng --stream 4` makes it worse",
    fix: "give this CPU its own part of the last cache (resctrl: schemata), keep memory-hungry work, graphics and DMA off its node, use huge pages; a low CPU frequency looks the same",
};

pub fn words(facts: &Slowdown, share: Share) -> FindingWords {
    ADVICE.with(format!(
        "{} ({share}), as if caches or memory were contended or the CPU ran at a lower frequency",
        slowdown(facts)
    ))
}
