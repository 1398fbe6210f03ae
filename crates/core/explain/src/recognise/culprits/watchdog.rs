//! The watchdog for stuck CPUs: its timer, and the stop that the timer requests.

use super::about::{About, Proof};
use crate::read::event::EventKind;
use crate::recognise::case::{Case, Claim};
use crate::recognise::evidence::more_urgent::interferes;
use crate::recognise::evidence::other_timers;
use archive::culprit::LockupWatchdog;
use archive::explanation::Confidence;

pub const ABOUT: About = About {
    recognised: "watchdog_timer_fn takes most of what other timers take in the timer interrupt, or migration/N runs right after it",
    events: &["hrtimer_expire_entry|sched_switch"],
    shows: "the watchdog's function or thread",
    reading: &["Softlockup detector and hardlockup detector (aka nmi_watchdog)"],
    proof: Proof::MadeUp,
    refuted_by: &[],
};

/// The stop follows its timer within this time.
const FOLLOWS_NS: i64 = 1_000_000;
const FUNCTION: &str = "watchdog_timer_fn";

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c, LockupWatchdog>> {
    let mut pieces = other_timers::mostly(case, &[FUNCTION]).unwrap_or_default();
    let facts = match stop(case) {
        Some(stopped) => {
            pieces.extend(stopped);
            LockupWatchdog::Stop
        }
        None if pieces.is_empty() => return None,
        None => LockupWatchdog::Timer,
    };
    Some(Claim { events: fired(case).into_iter().collect(), ..Claim::new(pieces, Confidence::Certain, facts) })
}

fn fired<'c>(case: &Case<'c>) -> Option<crate::read::event::Event<'c>> {
    let activity = case.trace.cpu(case.cpu())?;
    let is_watchdog = |function: u64| case.names().function_known(function) == Some(FUNCTION);
    let mut events = activity.events_between(i64::MIN, case.trace.window.seen_ns).iter();
    events
        .rfind(|event| matches!(event.what, EventKind::HrtimerExpireEntry { function, .. } if is_watchdog(function)))
        .copied()
}

fn stop(case: &Case) -> Option<Vec<usize>> {
    let fired = fired(case)?;
    let stops = |tid: i32| case.names().comm(tid).starts_with("migration/");
    case.claim(|piece| {
        (fired.ts_ns..fired.ts_ns.saturating_add(FOLLOWS_NS)).contains(&piece.start_ns)
            && interferes(case, piece).is_some_and(stops)
    })
}
