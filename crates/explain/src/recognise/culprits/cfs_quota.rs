//! A control group had used up its CPU time: its tasks wait for the next period.

use super::about::{About, Proof};
use super::passed_over::period_began;
use crate::account::ledger::Piece;
use crate::read::event::EventKind;
use crate::recognise::case::{Case, Claim, held};
use archive::explanation::{Confidence, OwnerKind};

pub const ABOUT: About = About {
    recognised: "the thread has no real-time priority, could run and did not, and sched_cfs_period_timer (or the slack timer) expires right before it is given the CPU, each time it could run",
    confirm: "nr_throttled and throttled_usec in cpu.stat of its control group rise",
    fix: "echo max > cpu.max of its control group (docker run without --cpus, Kubernetes without a CPU limit), or give the thread a real-time priority",
    reading: &["CFS Bandwidth Control", "Control Group v2"],
    proof: Proof::MadeUp,
};

/// Timers that give a control group time again.
const PERIODS: [&str; 2] = ["sched_cfs_period_timer", "sched_cfs_slack_timer"];

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c>> {
    if !case.own_is_ordinary() {
        return None;
    }
    let period_of = |piece: &Piece| period_began(case, &PERIODS, piece.start_ns);
    let pieces = case.claim(|piece| {
        case.kept_off(piece)
            && held(piece).is_some()
            && matches!(case.kind(piece), OwnerKind::Task | OwnerKind::Idle)
            && period_of(piece).is_some_and(|period| piece.start_ns <= period.ts_ns)
    })?;
    let longest = &case.pieces[*pieces.iter().max_by_key(|&&index| case.pieces[index].ns())?];
    let period = period_of(longest)?;
    let own = case.tool_threads.own_tid;
    let given = case.event(|event| {
        event.ts_ns >= period.ts_ns && matches!(event.what, EventKind::Switch { next, .. } if next == own)
    });
    Some(Claim {
        confidence: Confidence::Likely,
        sentence: format!(
            "the thread's control group had used up its CPU quota and waited for the next period ({})",
            case.share(&pieces)
        ),
        events: [period].into_iter().chain(given).collect(),
        evidence: Vec::new(),
        confirm: ABOUT.confirm.into(),
        fix: ABOUT.fix.into(),
        pieces,
    })
}
