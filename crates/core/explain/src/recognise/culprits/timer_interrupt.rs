//! The interrupt that caused the wake-up was itself slow, outside any other timer's function.

use super::about::{About, Proof};
use crate::recognise::case::{Case, Claim};
use archive::explanation::Confidence;

pub const ABOUT: About = About {
    recognised: "the interrupt that brought the wake-up takes more than 20 µs outside the functions of other timers",
    confirm: "the function_graph tracer on hrtimer_interrupt",
    fix: "guest: a virtual CPU that is pinned and offers its timer to the guest; bare metal: tsc as clocksource, the TSC deadline timer",
    reading: &["Timerlat tracer"],
    proof: Proof::Real,
};

/// Every wake-up has such an interrupt; a shorter one is ordinary.
const SLOW_NS_MIN: i64 = 20_000;
/// No hypervisor takes this long to set a timer: it may have taken the CPU away altogether.
const SETTING_NS_MAX: i64 = 1_000_000;

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c>> {
    let pieces = case.claim(|piece| case.is_wake_interrupt(piece))?;
    if case.ns(&pieces) < SLOW_NS_MIN {
        return None;
    }
    let share = case.share(&pieces);
    let why = match case.virtualised() {
        Some(host) => format!("setting the timer exits the guest, and the hypervisor ({host}) takes its time"),
        None => "waiting for a scheduler lock, or for the timer hardware".into(),
    };
    let taken_away = case.virtualised().is_some() && case.ns(&pieces) > SETTING_NS_MAX;
    Some(Claim {
        confidence: if taken_away { Confidence::Hint } else { Confidence::Likely },
        sentence: format!("the timer interrupt that brought the wake-up was itself slow ({share}): most often {why}"),
        events: Vec::new(),
        evidence: case.steal_line().into_iter().collect(),
        confirm: "the function_graph tracer on hrtimer_interrupt, on this CPU, shows the slow part".into(),
        fix: match case.virtualised() {
            Some(_) => {
                "on the host: pin the virtual CPU, SCHED_FIFO for its thread, a CPU that offers its timer to the guest"
                    .into()
            }
            None => "tsc as clocksource and the TSC deadline timer; fewer threads that wake others on this CPU".into(),
        },
        pieces,
    })
}
