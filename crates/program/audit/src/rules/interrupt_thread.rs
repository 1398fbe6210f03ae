//! Threads more urgent than the interrupt threads that wake them.

use super::{Rule, Sight, Subject};
use archive::audit::InterruptThread;
use std::collections::BTreeMap;

pub const RULE: Rule = Rule {
    name: "above-interrupt-thread",
    title: "is more urgent than the interrupt thread that wakes it",
    why: "While another thread of its priority runs, the interrupt thread does not, and the data that this thread waits for does not come.",
    instead: "Give the interrupt thread a higher priority: chrt -f -p 90 on the thread irq/NUMBER-DEVICE.",
};

pub fn check<'a>(subject: &Subject<'a>, interrupt_threads: &BTreeMap<i32, &InterruptThread>) -> Vec<Sight<'a>> {
    if !subject.is_real_time() || subject.cycles.is_none() {
        return Vec::new();
    }
    let wakers = subject.activity.wakers.keys().filter_map(|tid| interrupt_threads.get(tid));
    let below = wakers.filter(|thread| thread.priority < subject.thread.priority);
    below
        .map(|thread| {
            let what =
                format!("{} has priority {}, this thread {}", thread.name, thread.priority, subject.thread.priority);
            Sight::of_state(&RULE, what)
        })
        .collect()
}
