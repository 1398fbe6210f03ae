//! The watchdog for stuck CPUs: its timer, and the stop that the timer requests.

use super::about::{About, Proof};
use super::other_rt_task::interferes;
use super::timers;
use crate::read::event::EventKind;
use crate::recognise::case::{Case, Claim};
use archive::explanation::Confidence;

pub const ABOUT: About = About {
    recognised: "watchdog_timer_fn takes most of what other timers take in the timer interrupt, or migration/N runs right after it",
    confirm: "every 4 s (2/5 of kernel.watchdog_thresh); /proc/sys/kernel/watchdog_cpumask says where",
    fix: "nowatchdog on the kernel command line, sysctl kernel.watchdog=0, or a kernel.watchdog_cpumask without this CPU",
    reading: &["Softlockup detector and hardlockup detector (aka nmi_watchdog)"],
    proof: Proof::MadeUp,
};

/// The stop follows its timer within this time.
const FOLLOWS_NS: i64 = 1_000_000;
const FUNCTION: &str = "watchdog_timer_fn";

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c>> {
    let mut pieces = timers::mostly(case, &[FUNCTION]).unwrap_or_default();
    let what = match stop(case) {
        Some(stopped) => {
            pieces.extend(stopped);
            "the lockup watchdog stopped this CPU for its check"
        }
        None if pieces.is_empty() => return None,
        None => "the timer of the lockup watchdog ran first",
    };
    Some(Claim {
        confidence: Confidence::Certain,
        sentence: format!("{what} ({})", case.share(&pieces)),
        events: fired(case).into_iter().collect(),
        evidence: Vec::new(),
        confirm: ABOUT.confirm.into(),
        fix: ABOUT.fix.into(),
        pieces,
    })
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
