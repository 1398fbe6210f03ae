//! A real-time thread that had the CPU by its priority.

use crate::account::ledger::Piece;
use crate::recognise::case::{Case, held};
use crate::replay::context::Context;
use archive::explanation::{OwnerKind, PhaseName};

/// The real-time thread that had the CPU by its priority while the measuring thread was runnable.
pub fn interferes(case: &Case, piece: &Piece) -> Option<i32> {
    let could_run = case.kept_off(piece)
        || case.is_held_up_by_another(piece)
        || matches!(piece.phase, PhaseName::ReturnToUser | PhaseName::WakePath);
    let tid = held(piece).and_then(Context::tid)?;
    (could_run && case.kind(piece) == OwnerKind::RtTask && case.outranks(tid, piece)).then_some(tid)
}
