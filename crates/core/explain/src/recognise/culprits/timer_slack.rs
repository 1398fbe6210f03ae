//! The kernel delayed a timer to combine it with others, as it may for threads without a real-time priority.

use super::about::{About, Proof};
use crate::read::event::EventKind;
use crate::recognise::case::{Case, Claim};
use archive::culprit::TimerSlack;
use archive::explanation::{Confidence, PhaseName};

pub const ABOUT: About = About {
    recognised: "the timer of a watched thread was started with a later hard expiry than asked for",
    events: &["hrtimer_start"],
    shows: "the timer's two expiries",
    reading: &["hrtimers - subsystem for high-resolution kernel timers"],
    proof: Proof::MadeUp,
    refuted_by: &[],
};

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c, TimerSlack>> {
    case.input.spike.watched?;
    let arm = case.trace.arm()?;
    let EventKind::HrtimerStart { expires_ns, soft_expires_ns, .. } = arm.what else { return None };
    let slack_ns = expires_ns.checked_sub(soft_expires_ns).filter(|slack_ns| *slack_ns > 0)?;
    let pieces = case.claim(|piece| piece.phase == PhaseName::TimerDelay && piece.end_ns <= expires_ns)?;
    let facts = TimerSlack { tid: case.tool_threads.own_tid, slack_ns };
    Some(Claim { events: vec![arm], ..Claim::new(pieces, Confidence::Certain, facts) })
}
