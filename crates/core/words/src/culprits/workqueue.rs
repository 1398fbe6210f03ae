//! Words about workqueue: a kernel worker.

use super::{Advice, FindingWords, named};
use crate::voice::Share;
use archive::culprit::Worker;

pub const ADVICE: Advice = Advice {
    title: "a kernel worker",
    confirm: "workqueue:workqueue_queue_work with this function names who queued it; --tracer function on it shows where it cannot be preempted",
    fix: "a /sys/devices/virtual/workqueue/cpumask without this CPU moves unbound work; work bound to this CPU goes away only with what queues it",
};

pub fn words(facts: &Worker, share: Share) -> FindingWords {
    let mut words = named::words(&facts.named, share, &ADVICE, "a kernel worker ran");
    words.evidence.push(match facts.is_bound {
        true => "this worker is bound to this CPU: the workqueue cpumask does not move it".into(),
        false => "this worker may run on any CPU that /sys/devices/virtual/workqueue/cpumask allows".into(),
    });
    if !facts.is_function_known {
        words.evidence.push("the trace does not show which function it executed".into());
    }
    words
}
