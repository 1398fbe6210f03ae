//! Interrupts other than the one that caused the wake-up.

use crate::account::ledger::Piece;
use crate::recognise::case::{Case, held};
use crate::replay::context::Context;

pub fn is_foreign(case: &Case, piece: &Piece) -> bool {
    held(piece).is_some_and(Context::is_hardirq) && !case.is_wake_interrupt(piece)
}
