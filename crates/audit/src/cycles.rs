//! Where a thread's loop starts and ends.
//!
//! What a thread does before its loop, as locking memory and opening devices, is right there; what it does when it ends
//! does not matter. The loop lasts from its first wait after the settling time to its last wait. A thread that never
//! waits has no loop.

use crate::activity::{Activity, Call};
use std::collections::BTreeMap;

/// The loop of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Loop {
    pub start_ns: i64,
    pub end_ns: i64,
    /// How often the thread waited with the call it waits with most, less one.
    pub cycles: u64,
}

/// The loop of a thread, where `settle_ns` after its first event do not count; `None` if it waited less than twice after
/// that.
pub fn find(thread: &Activity, settle_ns: i64) -> Option<Loop> {
    let settled_ns = thread.first_ns.saturating_add(settle_ns);
    let waits: Vec<&Call> = thread.calls.iter().filter(|call| is_wait(call) && call.start_ns >= settled_ns).collect();
    let (first, last) = (waits.first()?, waits.last()?);
    let mut by_number: BTreeMap<i64, u64> = BTreeMap::new();
    waits.iter().for_each(|call| *by_number.entry(call.number).or_default() += 1);
    let most = by_number.into_values().max().unwrap_or(0);
    (most >= 2).then(|| Loop { start_ns: first.start_ns, end_ns: last.end_ns, cycles: most - 1 })
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
        Call { number, arguments, answer: Some(0), start_ns, end_ns, waited_ns, uninterruptible_ns: 0, stack }
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
        assert_eq!(find(&thread, 50), Some(Loop { start_ns: 100, end_ns: 210, cycles: 1 }));
        assert_eq!(find(&thread, 0).unwrap().cycles, 2);
        assert_eq!(find(&thread, 150), None, "one wait is no loop");
    }
}
