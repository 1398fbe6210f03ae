//! The scheduler tick, in the same interrupt as the measuring thread's timer or in its own.

use super::about::{About, EXPIRED, Proof};
use crate::recognise::case::{Case, Claim};
use crate::recognise::evidence::other_timers;
use archive::culprit::{ForeignText, Tick};
use archive::explanation::Confidence;

pub const ABOUT: About = About {
    recognised: "tick_nohz_handler (tick_sched_timer before Linux 6.8) takes most of what other timers take in the timer interrupt",
    events: EXPIRED,
    shows: "the tick's function, between its entry and its exit",
    reading: &["NO_HZ: Reducing Scheduling-Clock Ticks"],
    proof: Proof::Real { at_most: Confidence::Certain },
    refuted_by: &[],
};

/// No tick takes this long by itself: a hypervisor can have had the CPU in the middle of it, which a guest's trace does
/// not show.
const TICK_NS_MAX: i64 = 1_000_000;

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c, Tick>> {
    let pieces = other_timers::mostly(case, &["tick_nohz_handler", "tick_sched_timer"])?;
    let nohz_full = case.input.environment.and_then(|environment| environment.cpus_nohz_full.as_deref());
    let longest_ns = pieces.iter().map(|&index| case.pieces[index].ns()).max().unwrap_or(0);
    let host = case.virtualised().filter(|_| longest_ns > TICK_NS_MAX);
    let confidence = if host.is_some() { Confidence::Hint } else { Confidence::Certain };
    let facts = Tick {
        nohz_full: nohz_full.map(str::trim).filter(|cpus| !cpus.is_empty()).map(ForeignText::from),
        host: host.map(ForeignText::from),
    };
    Some(Claim::new(pieces, confidence, facts))
}
