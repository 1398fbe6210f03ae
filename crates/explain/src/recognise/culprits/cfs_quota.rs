//! A control group had used up its CPU time: its tasks wait for the next period.

use super::about::{About, Proof};
use crate::read::event::EventKind;
use crate::recognise::case::{Case, Claim, held};
use archive::explanation::{Confidence, OwnerKind};

pub const ABOUT: About = About {
    recognised: "the thread has no real-time priority, could run and did not, and sched_cfs_period_timer expires right before it is given the CPU",
    confirm: "nr_throttled and throttled_usec in cpu.stat of its control group rise",
    fix: "echo max > cpu.max of its control group (docker run without --cpus, Kubernetes without a CPU limit), or give the thread a real-time priority",
    reading: &["CFS Bandwidth Control", "Control Group v2"],
    proof: Proof::MadeUp,
};

/// The thread is given the CPU this soon after the period began.
const FOLLOWS_NS: i64 = 1_000_000;

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c>> {
    if !case.own_is_ordinary() {
        return None;
    }
    let own = case.tool_threads.own_tid;
    let is_period = |function: u64| case.names().function_known(function) == Some("sched_cfs_period_timer");
    let given = case.event(|event| {
        event.cpu == case.cpu() && matches!(event.what, EventKind::Switch { next, .. } if next == own)
    })?;
    let period = case.event(|event| {
        (given.ts_ns.saturating_sub(FOLLOWS_NS)..=given.ts_ns).contains(&event.ts_ns)
            && matches!(event.what, EventKind::HrtimerExpireEntry { function, .. } if is_period(function))
    })?;
    let pieces = case.claim(|piece| {
        case.kept_off(piece)
            && piece.start_ns <= period.ts_ns
            && held(piece).is_some()
            && matches!(case.kind(piece), OwnerKind::Task | OwnerKind::Idle)
    })?;
    Some(Claim {
        confidence: Confidence::Likely,
        sentence: format!(
            "the thread's control group had used up its CPU quota and waited for the next period ({})",
            case.share(&pieces)
        ),
        events: vec![period, given],
        evidence: Vec::new(),
        confirm: ABOUT.confirm.into(),
        fix: ABOUT.fix.into(),
        pieces,
    })
}
