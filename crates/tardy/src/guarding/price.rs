//! The price of a recorded event on this machine. Two threads wake each other on one CPU, before the trace is on and while it is.

use super::cost::CostMeter;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::io::{PipeReader, PipeWriter, Read, Write, pipe};
use std::thread;
use std::time::{Duration, Instant};

const BATCHES: usize = 75;
const ROUND_TRIPS: usize = 100;
/// Where the machine is too busy to show it: more than an event costs on a usual machine, in ns.
const UNKNOWN_NS: f64 = 300.0;
/// A higher price includes other work.
const NS_MAX: f64 = 2000.0;
const NS_MIN: f64 = 20.0;

/// The time of a batch without a trace, to compare with.
pub struct Untraced {
    cpu: u32,
    batch: Duration,
}

impl Untraced {
    /// Measures it; `None` if threads cannot be bound to a CPU.
    pub fn measure() -> Option<Self> {
        let allowed = sched_getaffinity(None).ok()?;
        let cpu = (0..CpuSet::MAX_CPU).rev().find(|cpu| allowed.is_set(*cpu))?;
        Some(Self { cpu: u32::try_from(cpu).ok()?, batch: fastest(cpu, || {})? })
    }

    /// The price of an event in ns, now that the trace is on.
    pub fn event_ns(&self, cost: &mut CostMeter) -> f64 {
        cost.events_on(self.cpu);
        let mut events = Vec::new();
        let traced = fastest(self.cpu as usize, || events.push(cost.events_on(self.cpu)));
        let fewest = events.into_iter().min().unwrap_or(0);
        let Some(traced) = traced.filter(|_| fewest > ROUND_TRIPS as u64) else { return UNKNOWN_NS };
        let added_ns = traced.saturating_sub(self.batch).as_nanos() as f64;
        let event_ns = added_ns / fewest as f64;
        if event_ns > NS_MAX { UNKNOWN_NS } else { event_ns.max(NS_MIN) }
    }
}

/// The fastest of a few batches: what else runs can only add to it.
fn fastest(cpu: usize, mut after_each: impl FnMut()) -> Option<Duration> {
    let mut found: Option<Duration> = None;
    for _ in 0..BATCHES {
        let took = batch(cpu)?;
        after_each();
        found = Some(found.map_or(took, |before| before.min(took)));
    }
    found
}

/// Two threads on one CPU that wake each other.
fn batch(cpu: usize) -> Option<Duration> {
    let (to_other, from_one) = (pipe().ok()?, pipe().ok()?);
    let bind = move || {
        let mut set = CpuSet::new();
        set.set(cpu);
        sched_setaffinity(None, &set).is_ok()
    };
    let (mut other_reads, mut one_writes): (PipeReader, PipeWriter) = to_other;
    let (mut one_reads, mut other_writes): (PipeReader, PipeWriter) = from_one;
    let other = thread::spawn(move || {
        let mut byte = [0];
        if bind() {
            while other_reads.read_exact(&mut byte).is_ok() && other_writes.write_all(&byte).is_ok() {}
        }
    });
    let one = thread::spawn(move || {
        let mut byte = [1];
        if !bind() {
            return None;
        }
        let begun = Instant::now();
        for _ in 0..ROUND_TRIPS {
            one_writes.write_all(&byte).ok()?;
            one_reads.read_exact(&mut byte).ok()?;
        }
        Some(begun.elapsed())
    });
    let took = one.join().ok()?;
    let _ = other.join();
    took
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_threads_wake_each_other() {
        let untraced = Untraced::measure().unwrap();
        assert!(untraced.batch > Duration::ZERO);
        let mut nothing_recorded = CostMeter::of(i32::MAX, None, Vec::new());
        assert_eq!(untraced.event_ns(&mut nothing_recorded), UNKNOWN_NS);
    }
}
