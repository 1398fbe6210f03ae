//! Where a thread's loop starts and ends.
//!
//! A thread may lock memory and open devices before its loop, and may do anything when it ends: neither
//! matters. The loop lasts from its first wait after the settling time to its last wait. A thread that never
//! waits has no loop, unless it is a storm: the same few events without a pause, from the settling time on or from its last wait
//! on, up to the end.

use crate::activity::{Activity, Call, Fault, per_second};
use serde::Serialize;
use std::collections::BTreeMap;

/// Calls and faults a second that make a storm of a thread that does not wait.
pub const STORM_PER_SECOND: u64 = 1000;
/// Shortest storm: a program that just ends does much as well.
const STORM_NS_MIN: i64 = 100_000_000;
/// Number of no call.
const NO_CALL: i64 = -1;

/// The loop of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Loop {
    pub start_ns: i64,
    pub end_ns: i64,
    /// How often the thread waited with the call it waits with most, less one; 0 for a storm without waits.
    pub cycles: u64,
    /// Number of that call.
    pub number: i64,
}

/// The work of cycles between their waits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Work {
    pub cycles: u64,
    pub median_ns: i64,
    pub worst_ns: i64,
}

/// The work of cycles without an injected call, and of those with at least one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct WorkByInjection {
    pub without: Work,
    pub with: Work,
}

impl Work {
    fn of(mut works_ns: Vec<i64>) -> Self {
        works_ns.sort_unstable();
        let at = |index: usize| works_ns.get(index).copied().unwrap_or(0);
        let count = works_ns.len();
        Self { cycles: count as u64, median_ns: at(count / 2), worst_ns: at(count.saturating_sub(1)) }
    }
}

/// From the end of each wait to the start of the next one. A wait for an instant that has passed ends a cycle, too.
pub fn work(thread: &Activity, found: &Loop) -> WorkByInjection {
    let (mut without, mut with) = (Vec::new(), Vec::new());
    let (mut since_ns, mut injected) = (None, false);
    for call in thread.calls.iter().filter(|call| found.contains(call.start_ns)) {
        if call.number != found.number {
            injected |= call.injected;
            continue;
        }
        // A wait that stands for others says nothing about the time between them.
        if let Some(since_ns) = since_ns.filter(|_| call.joined == 0) {
            let work_ns = call.start_ns.saturating_sub(since_ns);
            if injected { with.push(work_ns) } else { without.push(work_ns) }
        }
        (since_ns, injected) = (Some(call.end_ns).filter(|_| call.joined == 0), false);
    }
    WorkByInjection { without: Work::of(without), with: Work::of(with) }
}

/// The loop of a thread, where `settle_ns` after its first event do not count; `None` if it waited less than twice after
/// that and is not a storm.
pub fn find(thread: &Activity, settle_ns: i64) -> Option<Loop> {
    let settled_ns = thread.first_ns.saturating_add(settle_ns);
    let found = between_waits(thread, settled_ns);
    storm(thread, settled_ns, found).or(found)
}

fn between_waits(thread: &Activity, settled_ns: i64) -> Option<Loop> {
    let waits: Vec<&Call> = thread.calls.iter().filter(|call| is_wait(call) && call.start_ns >= settled_ns).collect();
    let (first, last) = (waits.first()?, waits.last()?);
    let mut by_number: BTreeMap<i64, u64> = BTreeMap::new();
    waits.iter().for_each(|call| *by_number.entry(call.number).or_default() += call.count());
    let (number, most) = by_number.into_iter().max_by_key(|(_, count)| *count)?;
    (most >= 2).then(|| Loop { start_ns: first.start_ns, end_ns: last.end_ns, cycles: most - 1, number })
}

/// The thread up to its last event if it does much without waiting for most of the time.
fn storm(thread: &Activity, settled_ns: i64, found: Option<Loop>) -> Option<Loop> {
    let (from_ns, last_ns) = (found.map_or(settled_ns, |found| found.end_ns), thread.last_ns);
    let storm_ns = last_ns.saturating_sub(from_ns);
    let before_ns = from_ns.saturating_sub(found.map_or(settled_ns, |found| found.start_ns));
    if storm_ns < STORM_NS_MIN || storm_ns < before_ns {
        return None;
    }
    let calls = thread.calls.iter().chain(&thread.function_calls);
    let calls = calls.filter(|call| call.start_ns > from_ns).map(Call::count);
    let faults = thread.faults.iter().filter(|fault| fault.at_ns > from_ns).map(Fault::count);
    let (calls, faults) = (calls.fold(0, u64::saturating_add), faults.fold(0, u64::saturating_add));
    let calls_seen = thread.calls_per_second(calls, calls, from_ns, last_ns).unwrap_or(0);
    let faults_seen = thread.traced_per_second(faults, from_ns, last_ns).unwrap_or(0);
    // A trace that lost all of the time still shows a lower bound.
    let at_least = per_second(u128::from(calls) + u128::from(faults), storm_ns).unwrap_or(0);
    let is_storm = calls_seen.saturating_add(faults_seen).max(at_least) >= STORM_PER_SECOND;
    let whole = found.unwrap_or(Loop { start_ns: settled_ns, end_ns: last_ns, cycles: 0, number: NO_CALL });
    is_storm.then_some(Loop { end_ns: last_ns, ..whole })
}

/// Waiting for time or for another thread, and not for a device.
fn is_wait(call: &Call) -> bool {
    call.answer.is_some() && call.waited_ns > 0 && call.uninterruptible_ns == 0
}

impl Loop {
    pub fn contains(&self, at_ns: i64) -> bool {
        (self.start_ns..=self.end_ns).contains(&at_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(number: i64, start_ns: i64, waited_ns: i64) -> Call {
        let end_ns = start_ns + waited_ns + 1;
        Call { number, answer: Some(0), start_ns, end_ns, waited_ns, ..Call::default() }
    }

    #[test]
    fn the_loop_is_between_the_waits_and_starts_after_settling() {
        let calls = vec![
            call(1, 0, 0),
            call(230, 5, 9),
            call(230, 100, 9),
            call(1, 120, 0),
            call(230, 200, 9),
            call(11, 300, 0),
        ];
        let thread = Activity { calls, ..Activity::new(1, 0) };
        assert_eq!(find(&thread, 50), Some(Loop { start_ns: 100, end_ns: 210, cycles: 1, number: 230 }));
        assert_eq!(find(&thread, 0).unwrap().cycles, 2);
        assert_eq!(find(&thread, 150), None, "one wait is no loop");
    }

    /// `count` calls without a wait, one every 100 us.
    fn busy(from_ns: i64, count: i64) -> Vec<Call> {
        (0..count).map(|at| call(202, from_ns + at * 100_000, 0)).collect()
    }

    #[test]
    fn a_thread_that_does_much_and_never_waits_is_a_loop_from_settling_to_its_end() {
        let calls = busy(0, 5000);
        let last_ns = calls.last().unwrap().end_ns;
        let mut thread = Activity { calls, last_ns, ..Activity::new(1, 0) };
        let storm = Loop { start_ns: 50_000_000, end_ns: last_ns, cycles: 0, number: NO_CALL };
        assert_eq!(find(&thread, 50_000_000), Some(storm));
        thread.calls = thread.calls.into_iter().step_by(20).collect();
        assert_eq!(find(&thread, 50_000_000), None, "500 calls a second");
        // They came in the twentieth of the time that was recorded.
        thread.unseen_ns.add(last_ns - 1, (last_ns - 50_000_000) / 20 * 19);
        assert_eq!(find(&thread, 50_000_000), Some(storm));
        let mut thread = Activity { calls: busy(0, 5000), last_ns, ..Activity::new(1, 0) };
        thread.unseen_ns.add(last_ns - 1, last_ns);
        assert_eq!(find(&thread, 50_000_000), Some(storm), "none of the time was recorded");
    }

    #[test]
    fn a_storm_after_the_last_wait_counts_and_a_short_end_does_not() {
        let waits = || (0..100).map(|at| call(230, at * 1_000_000, 900_000));
        let with_end = |count| {
            let calls: Vec<Call> = waits().chain(busy(100_000_000, count)).collect();
            let last_ns = calls.last().unwrap().end_ns;
            Activity { calls, last_ns, ..Activity::new(1, 0) }
        };
        assert_eq!(find(&with_end(900), 0).unwrap().end_ns, 99_900_001);
        let storm = with_end(2000);
        assert_eq!(find(&storm, 0), Some(Loop { start_ns: 0, end_ns: storm.last_ns, cycles: 99, number: 230 }));
    }

    #[test]
    fn the_work_of_a_cycle_with_an_injected_call_is_counted_apart() {
        let injected = Call { injected: true, ..call(1, 320, 0) };
        let overrun = Call { end_ns: 401, ..call(230, 400, 0) };
        let calls = vec![
            call(230, 100, 9),
            call(1, 120, 0),
            call(230, 200, 9),
            call(230, 300, 9),
            injected,
            overrun,
            call(230, 500, 9),
        ];
        let thread = Activity { calls, ..Activity::new(1, 0) };
        let found = find(&thread, 0).unwrap();
        let expected = WorkByInjection {
            without: Work { cycles: 3, median_ns: 90, worst_ns: 99 },
            with: Work { cycles: 1, median_ns: 90, worst_ns: 90 },
        };
        assert_eq!(work(&thread, &found), expected);
    }
}
