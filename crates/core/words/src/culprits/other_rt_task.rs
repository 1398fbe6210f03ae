//! Words about other-rt-task: another real-time task.

use super::{Advice, FindingWords};
use crate::holders::{holders, priority};
use crate::voice::Share;
use archive::culprit::MoreUrgent;

pub const ADVICE: Advice = Advice {
    title: "another real-time task",
    confirm: "ps -eLo tid,cls,rtprio,psr,comm lists all real-time threads",
    fix: "lower the other task (chrt -p -f 1 TID), raise the measuring thread (--priority, below 99), or move the other task off the CPU (taskset -p)",
};

pub fn words(facts: &MoreUrgent, share: Share) -> FindingWords {
    let MoreUrgent { who, tid, priority: theirs, thread_priority } = facts;
    let (who, theirs, ours) = (holders(who), priority(*theirs), priority(*thread_priority));
    let raise = match share.voice.watched {
        None => "raise the measuring thread (--priority)",
        Some(_) => "raise the watched thread (chrt -f -p PRIORITY TID)",
    };
    FindingWords {
        confirm: format!("chrt -p {tid}; {}", ADVICE.confirm),
        fix: format!(
            "lower the other task (chrt -p -f 1 {tid}), {raise}, or move the other task off this CPU (taskset -p)"
        ),
        ..ADVICE.with(format!("{who} ran at {theirs}; the thread has {ours} ({share})"))
    }
}
