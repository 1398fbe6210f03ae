//! A timer that was due while a task had the CPU.

use crate::account::ledger::Piece;
use crate::recognise::case::held;
use crate::replay::context::Context;
use archive::explanation::PhaseName;

pub fn is_late_in_task(piece: &Piece) -> bool {
    piece.phase == PhaseName::TimerDelay && matches!(held(piece), Some(Context::Task { .. }))
}
