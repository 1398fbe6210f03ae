//! Everything took longer, without a single culprit: the CPU itself was slow.

use super::about::{About, Proof};
use crate::account::ledger::Piece;
use crate::recognise::case::{Case, Claim};
use crate::recognise::controls::Controls;
use archive::culprit::Slowdown;
use archive::explanation::{Confidence, OwnerKind, PhaseName};

pub const ABOUT: About = About {
    recognised: "handler, wake path, scheduling delay and return to user all take 1.5 to 5 times their time in ordinary samples",
    events: &[],
    shows: "all phases take longer than in ordinary samples; no event shows why",
    at_most: Confidence::Hint,
    reading: &["User Interface for Resource Control feature", "CPU Performance Scaling"],
    proof: Proof::Unproven,
};

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

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c, Slowdown>> {
    let (least, most) = slowed_percent(case)?;
    if least < 150 || most > 500 {
        return None;
    }
    let pieces = rest(case)?;
    let facts = Slowdown { least_percent: least, most_percent: most };
    Some(Claim::new(pieces, Confidence::Hint, facts))
}
