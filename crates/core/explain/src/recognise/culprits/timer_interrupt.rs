//! The interrupt that caused the wake-up was itself slow, outside any other timer's function.

use super::about::{About, Proof, Unrecorded};
use crate::recognise::case::{Case, Claim};
use archive::culprit::{ForeignText, SlowTimerInterrupt};
use archive::explanation::Confidence;

pub const ABOUT: About = About {
    recognised: "the interrupt that brought the wake-up takes more than 20 µs outside the functions of other timers",
    events: &["local_timer_entry|hrtimer_expire_entry"],
    shows: "the wake-up's own interrupt was long, and no event shows its work",
    reading: &["Timerlat tracer"],
    proof: Proof::Real { at_most: Confidence::Likely },
    refuted_by: &[Unrecorded::Timers],
};

/// Every wake-up has such an interrupt; a shorter one is ordinary.
const SLOW_NS_MIN: i64 = 20_000;
/// No hypervisor takes this long to set a timer: it may have taken the CPU away altogether.
const SETTING_NS_MAX: i64 = 1_000_000;

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c, SlowTimerInterrupt>> {
    let pieces = case.claim(|piece| case.is_wake_interrupt(piece))?;
    if case.ns(&pieces) < SLOW_NS_MIN {
        return None;
    }
    let taken_away = case.virtualised().is_some() && case.ns(&pieces) > SETTING_NS_MAX;
    let confidence = if taken_away { Confidence::Hint } else { Confidence::Likely };
    let facts = SlowTimerInterrupt { host: case.virtualised().map(ForeignText::from) };
    Some(Claim { evidence: case.steal_time().into_iter().collect(), ..Claim::new(pieces, confidence, facts) })
}
