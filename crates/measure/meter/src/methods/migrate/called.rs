//! The threads wait for one word of memory, and a thread more urgent than all of them wakes them with one system call, as the
//! barrier of rt-migrate-test does. A sample starts when that thread has read the clock and is about to make the call. As there,
//! the most urgent of the threads is bound to another CPU before each call, so that it takes the CPU from one that slept there.

use super::super::stimulus::Pace;
use super::super::{RunContext, ThreadSetup};
use super::{less_urgent, scheduling_of, urgent, work_until};
use crate::kernel::{clock, scheduling};
use crate::measure::partner::{Partner, PartnerContext};
use crate::measure::waiter::{Arrival, Waiter};
use rustix::thread::futex;
use std::sync::Arc;
use std::sync::atomic::{
    AtomicBool, AtomicI64, AtomicU32, AtomicU64, Ordering::Acquire, Ordering::Relaxed, Ordering::Release,
};

/// The call that the threads wait for.
#[derive(Debug, Default)]
struct Calls {
    /// Number of calls, and of those that end the run.
    number: AtomicU32,
    given_ns: AtomicI64,
    /// The period of the last one is counted.
    counted: AtomicBool,
    /// Number of counted periods that have a call.
    with_call: AtomicU64,
    /// Number of counted periods without one.
    without_call: AtomicU64,
    ended: AtomicBool,
}

impl Calls {
    /// Wakes every thread that waits.
    fn wake(&self) {
        let _ = futex::wake(&self.number, futex::Flags::PRIVATE, i32::MAX as u32);
    }

    fn call(&self, counted: bool) {
        self.counted.store(counted, Relaxed);
        self.with_call.fetch_add(u64::from(counted), Relaxed);
        self.given_ns.store(clock::monotonic_ns(), Relaxed);
        self.number.fetch_add(1, Release);
        self.wake();
    }

    fn leave_out(&self, periods: u64) {
        self.without_call.fetch_add(periods, Relaxed);
    }

    fn end(&self) {
        self.ended.store(true, Release);
        self.number.fetch_add(1, Release);
        self.wake();
    }

    /// Number of counted periods until now.
    fn counted_periods(&self) -> u64 {
        self.with_call.load(Relaxed) + self.without_call.load(Relaxed)
    }

    /// Sleeps until the number is another one, and returns that.
    #[inline]
    fn wait(&self, seen: u32) -> u32 {
        loop {
            let number = self.number.load(Acquire);
            if number != seen {
                return number;
            }
            let _ = futex::wait(&self.number, futex::Flags::PRIVATE, seen, None);
        }
    }
}

struct Worker {
    calls: Arc<Calls>,
    work_ns: i64,
    works_until_ns: i64,
    /// Number of the last call seen.
    seen: u32,
    /// Counted periods up to that one.
    counted_periods: u64,
    /// CPUs to bind to in turn; none: never bound.
    visits: Vec<u32>,
}

impl Worker {
    fn new(calls: Arc<Calls>, work_ns: i64, visits: Vec<u32>) -> Self {
        Self { calls, work_ns, works_until_ns: i64::MIN, seen: 0, counted_periods: 0, visits }
    }

    /// A CPU that is offline or forbidden is not visited: the thread stays where it is.
    fn visit(&self) {
        if !self.visits.is_empty() {
            let _ = scheduling::bind(&self.visits[self.seen as usize % self.visits.len()..][..1]);
        }
    }

    /// Number of counted periods since the last call seen, except those that have a sample.
    fn missed(&mut self, samples: u64) -> u64 {
        let periods = self.calls.counted_periods();
        let missed = periods.saturating_sub(self.counted_periods + samples);
        self.counted_periods = periods;
        missed
    }
}

impl Waiter for Worker {
    fn wait(&mut self, _due_ns: i64) -> Arrival {
        work_until(self.works_until_ns);
        self.visit();
        self.seen = self.calls.wait(self.seen);
        let seen_ns = clock::monotonic_ns();
        if self.calls.ended.load(Acquire) {
            return Arrival::Ended { skipped: self.missed(0) };
        }
        self.works_until_ns = seen_ns.saturating_add(self.work_ns);
        let (given_ns, counted) = (self.calls.given_ns.load(Relaxed), self.calls.counted.load(Relaxed));
        Arrival::Answer { given_ns, seen_ns, skipped: self.missed(u64::from(counted)), counted }
    }
}

/// The least urgent thread.
fn compete(context: &PartnerContext, calls: &Calls, work_ns: i64) {
    let mut seen = 0;
    while !context.stop.load(Relaxed) {
        seen = calls.wait(seen);
        if calls.ended.load(Acquire) {
            return;
        }
        work_until(clock::monotonic_ns().saturating_add(work_ns));
    }
}

/// The most urgent one.
fn call_on_schedule(context: &PartnerContext, calls: &Calls) {
    let mut pace = Pace::new(context.schedule);
    while pace.due_ns < context.schedule.end_ns && !context.stop.load(Relaxed) {
        clock::sleep_until_ns(pace.due_ns);
        if context.stop.load(Relaxed) {
            break;
        }
        calls.call(pace.is_counted());
        calls.leave_out(pace.advance(clock::monotonic_ns()));
    }
    calls.end();
}

pub fn setups(run: &RunContext, work_ns: i64) -> Vec<ThreadSetup> {
    let calls = Arc::<Calls>::default();
    let setup = |(at, cpu): (usize, &u32)| {
        let ending = calls.clone();
        ThreadSetup {
            scheduling: scheduling_of(run, at + 1),
            release: Some(Box::new(move || ending.end())),
            ..urgent(*cpu, Worker::new(calls.clone(), work_ns, if at == 0 { run.allowed.to_vec() } else { Vec::new() }))
        }
    };
    let mut setups: Vec<ThreadSetup> = run.allowed.iter().enumerate().map(setup).collect();
    if let Some(first) = setups.first_mut() {
        let partner = |name: &str, by, body| {
            let (policy, priority) = less_urgent(run, by);
            Partner { name: name.into(), cpus: Vec::new(), policy, priority, body }
        };
        let (least, most) = (calls.clone(), calls);
        first.partners = vec![
            partner("tardy-least", run.allowed.len() + 1, Box::new(move |context| compete(&context, &least, work_ns))),
            partner("tardy-call", 0, Box::new(move |context| call_on_schedule(&context, &most))),
        ];
    }
    setups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_that_a_thread_did_not_see_is_missed_like_a_period_without_one() {
        let calls = Arc::<Calls>::default();
        let mut worker = Worker::new(calls.clone(), 0, Vec::new());
        calls.call(false);
        assert!(matches!(worker.wait(0), Arrival::Answer { skipped: 0, counted: false, .. }));
        calls.call(true);
        assert!(matches!(worker.wait(0), Arrival::Answer { skipped: 0, counted: true, .. }));
        calls.call(true);
        calls.leave_out(3);
        calls.call(true);
        let Arrival::Answer { given_ns, seen_ns, skipped: 4, counted: true } = worker.wait(0) else {
            panic!("no answer");
        };
        assert!(given_ns <= seen_ns);
        calls.leave_out(2);
        calls.end();
        assert_eq!(worker.wait(0), Arrival::Ended { skipped: 2 });
    }
}
