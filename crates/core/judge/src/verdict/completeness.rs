//! Missing parts of a run that prevent PASS whatever its figures are.

use super::coverage::uncovered;
use crate::refusal::Refusal;
use archive::damage::Damage;
use archive::loss::LossKind;
use archive::manifest::RunState;
use archive::message::{Ending, Severity};
use archive::problem::Remark;
use archive::reader::Run;
use archive::summary::RunSummary;

/// Whether the lost part may contain a late wake-up.
fn holds_wake_ups(kind: &LossKind) -> bool {
    match kind {
        LossKind::Records
        | LossKind::WakeUps
        | LossKind::Answers
        | LossKind::StrayAnswers
        | LossKind::TimeStamps
        | LossKind::Xruns
        | LossKind::Messages
        | LossKind::Frames
        | LossKind::Values
        | LossKind::OverflowValues
        | LossKind::CountedWakeUps
        | LossKind::Other(_) => true,
        LossKind::Snapshots
        | LossKind::LatencyTraces
        | LossKind::Events
        | LossKind::LineBytes
        | LossKind::Files
        | LossKind::FileBytes => false,
    }
}

/// Why this run cannot pass; empty if it is complete.
pub fn incomplete(run: &Run, summary: &RunSummary) -> Vec<Remark> {
    let mut missing = Vec::new();
    let ended = matches!(run.ending, Some((Ending::Complete | Ending::Stopped, _)));
    if !ended || summary.state == RunState::Running {
        missing.push(Remark::new(&Refusal::NoEnd));
    }
    for loss in run.losses.iter().filter(|loss| loss.count > 0 && holds_wake_ups(&loss.kind)) {
        missing.push(Remark::new(&Refusal::Lost { count: loss.count, kind: loss.kind.to_string() }));
    }
    // A missing end is also a gap, and already reported.
    let gaps = run.gaps.iter().filter(|gap| Damage::may_hold_wake_ups(&gap.code));
    missing.extend(gaps.filter(|_| ended).cloned());
    missing.extend(uncovered(run, summary));
    missing.dedup();
    missing
}

/// Cautions about the run: its degradations and its losses.
pub fn cautions(run: &Run) -> Vec<Remark> {
    let degraded = run.problems.iter().filter(|problem| problem.severity == Severity::Degraded).map(Remark::from);
    let lost = run.losses.iter().filter(|loss| loss.count > 0);
    let lost = lost.map(|loss| Remark::new(&Refusal::Lost { count: loss.count, kind: loss.kind.to_string() }));
    degraded.chain(lost).collect()
}
