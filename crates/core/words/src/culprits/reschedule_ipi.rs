//! Words about reschedule-ipi: another CPU asked this one to reschedule.

use super::{Advice, FindingWords, named};
use crate::voice::Share;
use archive::culprit::NamedHolders;

pub const ADVICE: Advice = Advice {
    title: "another CPU asked this one to reschedule",
    confirm: "the row RES of /proc/interrupts; sched:sched_wakeup with target_cpu of this CPU names the woken task, and ipi:ipi_send_cpu the sender",
    fix: "keep every other task off this CPU (isolcpus, cpuset), so that nothing wakes up there",
};

pub fn words(facts: &NamedHolders, share: Share) -> FindingWords {
    named::words(facts, share, &ADVICE, "another CPU asked this one to reschedule")
}
