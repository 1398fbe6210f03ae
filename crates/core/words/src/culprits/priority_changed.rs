//! Words about priority-changed: another task changed the priority of the thread.

use super::{Advice, FindingWords};
use crate::holders::{holders, priority};
use crate::trace_event::relative;
use crate::voice::Share;
use archive::culprit::{ChangeTime, PriorityChange};

pub const ADVICE: Advice = Advice {
    title: "another task changed the priority of the thread",
    confirm: "chrt -p TID during the run; `perf trace -e sched_setscheduler,sched_setattr,sched_setparam` or auditd shows who calls them",
    fix: "stop what changes priorities: a service manager, rtkit, `chrt` in a script, a cgroup rule",
};

pub fn words(facts: &PriorityChange, share: Share) -> FindingWords {
    FindingWords {
        evidence: evidence(facts),
        confirm: format!(
            "chrt -p {}; `perf trace -e sched_setscheduler,sched_setattr,sched_setparam` shows who calls them",
            facts.tid
        ),
        ..ADVICE.with(format!(
            "another task changed the priority of {} from {} to {}: {} ran meanwhile ({share})",
            share.voice.thread(),
            priority(Some(facts.before)),
            priority(facts.meanwhile),
            holders(&facts.who),
        ))
    }
}

fn evidence(facts: &PriorityChange) -> Vec<String> {
    let changed = match &facts.changed {
        Some(change) => format!("it was changed {}", when(change)),
        None => {
            format!("it was changed before the record: the thread had {} then", priority(Some(facts.before)))
        }
    };
    let back = facts.changed_back.map(|change| format!("it was changed back {}", when(&change)));
    let unknown = !facts.changed.is_some_and(|change| change.is_inherited);
    let by = unknown.then(|| "no event shows which task changed it".into());
    [changed].into_iter().chain(back).chain(by).collect()
}

fn when(change: &ChangeTime) -> String {
    format!("between {} and {}", relative(change.after_ns), relative(change.by_ns))
}
