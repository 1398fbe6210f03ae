//! Threads that sleep by timers without a real-time policy.

use super::{Rule, Sight, Subject};
use crate::activity::Call;

pub const NOT_REAL_TIME: Rule = Rule {
    name: "no-real-time-policy",
    title: "has no real-time policy",
    why: "Any ordinary thread may keep it from the CPU for its whole time slice.",
    instead: "Run it with SCHED_FIFO: pthread_setschedparam, or chrt -f -p 80 TID.",
};

pub const SLACK: Rule = Rule {
    name: "timer-slack",
    title: "lets the kernel delay its timers",
    why: "The kernel may delay each timer of an ordinary thread by its slack to join it with others.",
    instead: "Give the thread a real-time policy, for which there is no slack, or call prctl(PR_SET_TIMERSLACK, 1).",
};

/// The smallest slack that a thread can ask for.
const LEAST_NS: u64 = 1;

pub fn check<'a>(subject: &Subject<'a>) -> Vec<Sight<'a>> {
    if subject.is_real_time() || !subject.calls().any(|call| is_sleep(subject, call)) {
        return Vec::new();
    }
    let mut sights = vec![Sight::of_state(&NOT_REAL_TIME, "it sleeps by timers all the same".into())];
    if let Some(slack_ns) = subject.thread.timer_slack_ns.filter(|slack_ns| *slack_ns > LEAST_NS) {
        sights.push(Sight::of_state(&SLACK, format!("{} us", slack_ns.div_ceil(1000))));
    }
    sights
}

fn is_sleep(subject: &Subject<'_>, call: &Call) -> bool {
    subject.name_of(call).contains("nanosleep") && call.waited_ns > 0
}
