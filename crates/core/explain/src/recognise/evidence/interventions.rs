//! Effects of tasks on other threads: signals, freezes.

use crate::read::event::{Event, EventKind};
use crate::recognise::case::Case;
use crate::replay::thread_life::{LifeSpan, LifeState};

const SIGCONT: i32 = 18;
/// From the signal to the wake-up that it causes.
const SIGNAL_NS_MAX: i64 = 200_000;

/// Effects of tasks on other threads, before the window included.
pub fn interventions<'c>(case: &Case<'c>) -> impl Iterator<Item = Event<'c>> {
    let before = case.trace.cpus.iter().flat_map(|activity| activity.before.interventions.iter().copied());
    before.chain(case.trace.cpus.iter().flat_map(|activity| activity.events.iter().copied()))
}

/// Whether the thread was stopped in this state. When it left the CPU before the record begins, the signal that ends the state
/// says so.
pub fn is_stop(case: &Case, span: &LifeSpan) -> bool {
    let unknown = span.began.is_none() && matches!(span.state, LifeState::Asleep { .. });
    span.state.is_stopped() || unknown && span.ended.is_some_and(|ended| is_continued(case, &ended))
}

/// Whether the task that wakes the thread sends SIGCONT in this moment.
fn is_continued(case: &Case, wakes: &Event) -> bool {
    interventions(case).any(|event| {
        event.tid == wakes.tid
            && (wakes.ts_ns - SIGNAL_NS_MAX..=wakes.ts_ns).contains(&event.ts_ns)
            && matches!(event.what, EventKind::Signal { signal: SIGCONT, .. })
    })
}
