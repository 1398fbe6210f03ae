//! The part of the other CPUs in a late sample as sentences.

use crate::figures::latency;
use crate::holders::{holder, thread};
use crate::voice::Voice;
use archive::other_cpus::OtherCpus;

/// One sentence, without its full stop.
pub fn sentence(fact: &OtherCpus, latency_ns: i64, voice: Voice) -> String {
    match fact {
        OtherCpus::WokeThread { waker, cpu, after_ns, runnable_on, runnable_after_ns } => {
            let begun = if voice.sample.is_wake_up() { "due" } else { voice.sample.begun };
            format!(
                "the wake-up came from another CPU: {} on CPU {cpu} started it {} after {begun}; the thread was runnable on CPU \
                 {runnable_on} {} later",
                thread(waker),
                latency(*after_ns),
                latency(*runnable_after_ns)
            )
        }
        OtherCpus::Held { cpu, by } => {
            let percent = |ns: i64| i128::from(ns) * 100 / i128::from(latency_ns.max(1));
            let by: Vec<String> =
                by.iter().map(|held| format!("{} {} %", holder(&held.who), percent(held.ns))).collect();
            format!("CPU {cpu} meanwhile: {}", by.join(", "))
        }
        OtherCpus::LessBusy { cpus } => format!("{cpus} more CPUs were busy less"),
        OtherCpus::Idle { cpus: 1 } => "1 other CPU was idle all the time".into(),
        OtherCpus::Idle { cpus } => format!("{cpus} other CPUs were idle all the time"),
    }
}
