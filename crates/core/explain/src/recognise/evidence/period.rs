//! Timers with which the kernel gives threads new CPU time.

use crate::read::event::{Event, EventKind};
use crate::recognise::case::Case;

/// The last turn of a timer with one of these functions, on any CPU, between two instants.
pub fn period_began<'c>(case: &Case<'c>, functions: &[&str], (from_ns, to_ns): (i64, i64)) -> Option<Event<'c>> {
    let is_period = |function: u64| case.names().function_known(function).is_some_and(|name| functions.contains(&name));
    let expired = |event: &Event| {
        (from_ns..=to_ns).contains(&event.ts_ns)
            && matches!(event.what, EventKind::HrtimerExpireEntry { function, .. } if is_period(function))
    };
    let all = case.trace.cpus.iter().flat_map(|activity| activity.events.iter().copied());
    all.filter(|event| expired(event)).max_by_key(|event| event.ts_ns)
}
