//! Words about slow-return: slow return to user space.

use super::{Advice, FindingWords};
use crate::voice::Share;
use archive::culprit::{ForeignText, SlowReturn};

pub const ADVICE: Advice = Advice {
    title: "slow return to user space",
    confirm: "compare with a run without load; perf stat -e cache-misses on this CPU",
    fix: "tsc as clocksource; keep memory-hungry work off CPUs that share the cache (resctrl)",
};

pub fn words(facts: &SlowReturn, share: Share) -> FindingWords {
    match facts {
        SlowReturn::InVirtualTime => FindingWords {
            sentence: format!(
                "the thread had the CPU and executed instructions for {share} before it read the clock: the return from the kernel, its own page faults, other work"
            ),
            evidence: Vec::new(),
            confirm: "`tardy virtual record` shows the functions, except in a watched program".into(),
            fix: "lock and touch memory beforehand; read the clock first, then do the work".into(),
        },
        SlowReturn::Unknown { clocksource } => FindingWords {
            evidence: clocksource.iter().map(|ForeignText(name)| format!("clocksource is {name}")).collect(),
            ..ADVICE.with(format!(
                "the thread had the CPU and took {share} to read the clock: cold caches, a slow clock source, memory contention, firmware or a hypervisor"
            ))
        },
    }
}
