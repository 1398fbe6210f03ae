//! Words about priority-inversion: priority inversion.

use super::{Advice, FindingWords};
use crate::figures::latency;
use crate::holders::{priority, task};
use crate::voice::Share;
use archive::culprit::{KernelPriority, PriorityInversion, TaskName};

pub const ADVICE: Advice = Advice {
    title: "priority inversion",
    confirm: "`perf lock` or `strace -f -e futex` shows the lock they share; lock:contention_begin, on newer kernels",
    fix: "a mutex that inherits priorities (PTHREAD_PRIO_INHERIT); a shorter section, or no shared lock at all",
};

pub fn words(facts: &PriorityInversion, share: Share) -> FindingWords {
    let (thread, awaited) = (task(&facts.thread), task(&facts.awaited));
    let more = if facts.others > 0 { format!(" and {} more", facts.others) } else { String::new() };
    FindingWords {
        sentence: format!(
            "priority inversion: {} waited for {}, which could not run because {}{more} held CPU {} ({share})",
            with_priority(&facts.thread, Some(facts.thread_priority)),
            with_priority(&facts.awaited, facts.awaited_priority),
            with_priority(&facts.middle, facts.middle_priority),
            facts.cpu,
        ),
        evidence: evidence(facts),
        confirm: format!(
            "the mutex that {thread} and {awaited} share: a plain one inherits no priority; `perf lock` or `strace -f -e futex` shows \
             its address"
        ),
        fix: "make the mutex inherit priorities (pthread_mutexattr_setprotocol with PTHREAD_PRIO_INHERIT; in ROS 2 and C++ \
              a mutex of your own around it), or let the urgent thread share nothing with less urgent ones (try_lock, a \
              lock-free queue), or give the one in the middle a lower priority or another CPU"
            .into(),
    }
}

fn with_priority(thread: &TaskName, of: Option<KernelPriority>) -> String {
    format!("{} ({})", task(thread), priority(of))
}

fn evidence(facts: &PriorityInversion) -> Vec<String> {
    let waited = format!("it waited {} for {} in total", latency(facts.waited_ns), task(&facts.awaited));
    let plain = "no priority was inherited: the trace has no sched_pi_setprio of the thread it waited for";
    [waited].into_iter().chain((!facts.is_inherited).then(|| plain.into())).collect()
}
