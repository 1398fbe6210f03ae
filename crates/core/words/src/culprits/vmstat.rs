//! Words about vmstat: memory statistics were folded.

use super::{Advice, FindingWords, named};
use crate::voice::Share;
use archive::culprit::NamedHolders;

pub const ADVICE: Advice = Advice {
    title: "memory statistics were folded",
    confirm: "the events workqueue:workqueue_execute_start with function=vmstat_update come once in vm.stat_interval seconds",
    fix: "sysctl vm.stat_interval=120; newer kernels spare isolated CPUs",
};

pub fn words(facts: &NamedHolders, share: Share) -> FindingWords {
    named::words(facts, share, &ADVICE, "the kernel folded its memory statistics")
}
