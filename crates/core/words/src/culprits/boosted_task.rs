//! Words about boosted-task: a task that runs by priority inheritance.

use super::{Advice, FindingWords};
use crate::holders::{holders, priority, task};
use crate::voice::Share;
use archive::culprit::Boosted;

pub const ADVICE: Advice = Advice {
    title: "a task that runs by priority inheritance",
    confirm: "sched:sched_pi_setprio shows who lends the priority; `strace -f -e futex` on both shows the mutex (FUTEX_LOCK_PI)",
    fix: "shorten what the task does under the mutex; no mutex between the thread that waits for it and less urgent ones; or a priority above both",
};

pub fn words(facts: &Boosted, share: Share) -> FindingWords {
    let lender = match &facts.lender {
        Some(lender) => format!("{} waits for a lock that it holds and lent it", task(lender)),
        None => "a thread that waits for a lock that it holds lent it".into(),
    };
    let (who, lent, ours) = (holders(&facts.who), priority(Some(facts.lent_priority)), priority(facts.thread_priority));
    let by_itself = priority(Some(facts.priority_by_itself));
    FindingWords {
        confirm: format!(
            "`strace -f -e futex -p {}` shows the mutex (FUTEX_LOCK_PI); sched:sched_pi_setprio who waits for it",
            facts.tid
        ),
        ..ADVICE.with(format!(
            "{who} ran by priority inheritance: {lender} {lent}, above the thread's {ours} ({share}); by itself it has {by_itself}"
        ))
    }
}
