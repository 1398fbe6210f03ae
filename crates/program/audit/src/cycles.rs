//! Where a thread's loop starts and ends.
//!
//! A thread may lock memory and open devices before its loop, and may do anything when it ends: neither
//! matters. The loop lasts from its first wait after the settling time to its last wait. A thread that never
//! waits has no loop.

use crate::activity::{Activity, Call};
use serde::Serialize;
use std::collections::BTreeMap;

/// The loop of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Loop {
    pub start_ns: i64,
    pub end_ns: i64,
    /// How often the thread waited with the call it waits with most, less one.
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
/// that.
pub fn find(thread: &Activity, settle_ns: i64) -> Option<Loop> {
    let settled_ns = thread.first_ns.saturating_add(settle_ns);
    let waits: Vec<&Call> = thread.calls.iter().filter(|call| is_wait(call) && call.start_ns >= settled_ns).collect();
    let (first, last) = (waits.first()?, waits.last()?);
    let mut by_number: BTreeMap<i64, u64> = BTreeMap::new();
    waits.iter().for_each(|call| *by_number.entry(call.number).or_default() += call.count());
    let (number, most) = by_number.into_iter().max_by_key(|(_, count)| *count)?;
    (most >= 2).then(|| Loop { start_ns: first.start_ns, end_ns: last.end_ns, cycles: most - 1, number })
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
        let (arguments, stack) = ([0; 6], Vec::new());
        let end_ns = start_ns + waited_ns + 1;
        Call {
            number,
            arguments,
            answer: Some(0),
            start_ns,
            end_ns,
            waited_ns,
            uninterruptible_ns: 0,
            stack,
            ..Call::default()
        }
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
