//! Every phase took longer than in ordinary samples.

use crate::account::ledger::Piece;
use crate::recognise::case::Case;
use crate::recognise::controls::Controls;
use archive::explanation::{OwnerKind, PhaseName};

const PHASES: [PhaseName; 4] =
    [PhaseName::Handler, PhaseName::WakePath, PhaseName::SchedulingDelay, PhaseName::ReturnToUser];
/// Shorter ordinary phases are noise.
const ORDINARY_NS_MIN: i64 = 300;

/// Percentage of their ordinary time that the phases took, minimum and maximum; `None` if fewer than three are
/// comparable.
pub fn slowed_percent(case: &Case) -> Option<(i64, i64)> {
    let ordinary = Controls::new(case.input.controls);
    let now = |phase| case.pieces.iter().filter(move |piece| piece.phase == phase).map(|piece| piece.ns()).sum::<i64>();
    let percents: Vec<i64> = PHASES
        .iter()
        .filter_map(|&phase| Some((now(phase), ordinary.phase_ns(phase).filter(|ns| *ns >= ORDINARY_NS_MIN)?)))
        .map(|(now_ns, ordinary_ns)| now_ns.saturating_mul(100) / ordinary_ns)
        .collect();
    (percents.len() >= 3).then_some(())?;
    Some((*percents.iter().min()?, *percents.iter().max()?))
}

/// Time of the kernel's own wake-up path and of the thread: no task, no other interrupt.
pub fn rest(case: &Case) -> Option<Vec<usize>> {
    let way =
        |piece: &Piece| case.is_wake_interrupt(piece) || matches!(case.kind(piece), OwnerKind::Own | OwnerKind::Idle);
    case.claim(|piece| PHASES.contains(&piece.phase) && way(piece))
}
