//! Words about compaction: memory compaction.

use super::{Advice, FindingWords, named};
use crate::voice::Share;
use archive::culprit::NamedHolders;

pub const ADVICE: Advice = Advice {
    title: "memory compaction",
    confirm: "compact_* and thp_* in /proc/vmstat rise at the same time; the events compaction:mm_compaction_begin and huge_memory:mm_collapse_huge_page bracket it",
    fix: "echo never > /sys/kernel/mm/transparent_hugepage/enabled and .../defrag; vm.compaction_proactiveness=0; vm.compact_unevictable_allowed=0 keeps locked pages where they are",
};

pub fn words(facts: &NamedHolders, share: Share) -> FindingWords {
    named::words(facts, share, &ADVICE, "the kernel compacted memory")
}
