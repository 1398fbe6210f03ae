//! The sample contradicts the trace: its clock was stepped, or is a different one.

use super::about::{About, Proof};
use crate::read::event::EventKind;
use crate::recognise::case::{Case, Claim};
use archive::culprit::ClockStep;
use archive::explanation::{Confidence, PhaseName};

pub const ABOUT: About = About {
    recognised: "the thread set its next timer before it saw the clock; a negative latency, or one of more than a day, is refused before any culprit is asked",
    events: &["hrtimer_start"],
    shows: "the timer was set before the clock was seen; the step has no event",
    reading: &["ktime accessors"],
    proof: Proof::Unproven,
    refuted_by: &[],
};

/// Smaller differences occur between the clocks of two CPUs.
const DIFFERENCE_NS_MIN: i64 = 20_000;

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c, ClockStep>> {
    let given = case.anchors.switched.filter(|_| case.input.spike.watched.is_none())?;
    let own = case.tool_threads.own_tid;
    let next = case.event(|event| {
        event.ts_ns > given.ts_ns
            && event.tid == own
            && matches!(event.what, EventKind::HrtimerStart { function, .. } if case.names().function_known(function) == Some("hrtimer_wakeup"))
    })?;
    let early_ns = case.trace.window.seen_ns - next.ts_ns;
    if early_ns < DIFFERENCE_NS_MIN {
        return None;
    }
    let pieces = case.claim(|piece| piece.phase == PhaseName::ReturnToUser)?;
    let confidence = Confidence::Hint;
    Some(Claim { events: vec![next], ..Claim::new(pieces, confidence, ClockStep { early_ns }) })
}
