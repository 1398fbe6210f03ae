//! A watched thread that computed until it set its timer too late.

use crate::account::ledger::Piece;
use crate::recognise::case::Case;
use archive::explanation::{OwnerKind, PhaseName};

/// Whether a watched thread itself had the CPU when it should already have set its timer.
pub fn overruns(case: &Case, piece: &Piece) -> bool {
    case.input.spike.watched.is_some() && piece.phase == PhaseName::LateArm && case.kind(piece) == OwnerKind::Own
}
