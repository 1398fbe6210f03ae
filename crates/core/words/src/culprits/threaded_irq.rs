//! Words about threaded-irq: an interrupt thread.

use super::{Advice, FindingWords};
use crate::holders::{holders, priority};
use crate::voice::Share;
use archive::culprit::MoreUrgent;

pub const ADVICE: Advice = Advice {
    title: "an interrupt thread",
    confirm: "`ps -eLo tid,rtprio,comm | grep irq/` lists the threads of interrupts; /proc/irq/N/smp_affinity_list says where they may run",
    fix: "give threads of interrupts priorities of their own (chrt -p -f 40 TID): the late thread above the ones it does not need, below the one it waits for; or move the interrupt to another CPU",
};

pub fn words(facts: &MoreUrgent, share: Share) -> FindingWords {
    let MoreUrgent { who, tid, priority: theirs, thread_priority } = facts;
    let (who, theirs, ours) = (holders(who), priority(*theirs), priority(*thread_priority));
    FindingWords {
        confirm: format!("chrt -p {tid}; /proc/interrupts counts what it serves"),
        ..ADVICE.with(format!("an interrupt thread ran first: {who} at {theirs}; the thread has {ours} ({share})"))
    }
}
