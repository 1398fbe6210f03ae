//! The scheduler tick, in the same interrupt as the measuring thread's timer or in its own.

use super::about::{About, Proof};
use super::timers;
use crate::recognise::case::{Case, Claim};
use archive::explanation::Confidence;

pub const ABOUT: About = About {
    recognised: "tick_nohz_handler (tick_sched_timer before Linux 6.8) takes most of what other timers take in the timer interrupt",
    confirm: "the event timer:tick_stop with success=0 names what keeps the tick; /sys/devices/system/cpu/nohz_full says where it may stop",
    fix: "nohz_full= for this CPU and one runnable task on it: no second task, no perf session, no CPU-time timer; skew_tick=1, and an interval that is no multiple of the tick",
    reading: &["NO_HZ: Reducing Scheduling-Clock Ticks"],
    proof: Proof::Real,
};

/// No tick takes this long by itself: a hypervisor can have had the CPU in the middle of it, which a guest's trace does
/// not show.
const TICK_NS_MAX: i64 = 1_000_000;

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c>> {
    let pieces = timers::mostly(case, &["tick_nohz_handler", "tick_sched_timer"])?;
    let nohz_full = case.input.environment.and_then(|environment| environment.cpus_nohz_full.as_deref());
    let evidence = match nohz_full {
        Some(cpus) if !cpus.trim().is_empty() => vec![format!("nohz_full is {}", cpus.trim())],
        _ => Vec::new(),
    };
    let longest_ns = pieces.iter().map(|&index| case.pieces[index].ns()).max().unwrap_or(0);
    let host = case.virtualised().filter(|_| longest_ns > TICK_NS_MAX);
    let (confidence, doubt) = match host {
        Some(host) => (
            Confidence::Hint,
            format!("; a tick takes that long only if the hypervisor ({host}) had the CPU meanwhile"),
        ),
        None => (Confidence::Certain, String::new()),
    };
    Some(Claim {
        confidence,
        sentence: format!("the scheduler tick ran first ({}){doubt}", case.share(&pieces)),
        events: Vec::new(),
        evidence,
        confirm: ABOUT.confirm.into(),
        fix: ABOUT.fix.into(),
        pieces,
    })
}
