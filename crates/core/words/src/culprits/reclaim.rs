//! Words about reclaim: memory reclaim.

use super::{Advice, FindingWords, named};
use crate::voice::Share;
use archive::culprit::NamedHolders;

pub const ADVICE: Advice = Advice {
    title: "memory reclaim",
    confirm: "pgscan_* and allocstall_* in /proc/vmstat rise at the same time; the events vmscan:mm_vmscan_kswapd_wake and vmscan:mm_vmscan_direct_reclaim_begin name who asked",
    fix: "allocate nothing in the real-time path; a larger vm.min_free_kbytes; put what fills the page cache into a memory cgroup with memory.high",
};

pub fn words(facts: &NamedHolders, share: Share) -> FindingWords {
    named::words(facts, share, &ADVICE, "the kernel reclaimed memory")
}
