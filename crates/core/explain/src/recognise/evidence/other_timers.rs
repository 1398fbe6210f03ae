//! Timers other than the one that brought the wake-up.

use crate::account::ledger::Piece;
use crate::read::event::Vector;
use crate::recognise::case::{Case, held};
use crate::replay::context::Context;
use archive::explanation::PhaseName;

/// Whether another timer's function held the CPU in this piece.
pub fn is_other(case: &Case, piece: &Piece) -> bool {
    let Some(context) = held(piece) else { return false };
    let timer = matches!(context, Context::Vector { vector: Vector::LocalTimer, .. }) || case.is_wake_interrupt(piece);
    let before_ours = piece.phase == PhaseName::Handler;
    let other = context.function().is_some_and(|function| before_ours || !is_wakeup(case, function));
    timer && context.is_hardirq() && other && piece.phase != PhaseName::WakePath
}

/// The pieces of timers with one of these functions, if they took most of the time of other timers.
pub fn mostly(case: &Case, functions: &[&str]) -> Option<Vec<usize>> {
    let all = case.claim(|piece| is_other(case, piece))?;
    let named = |piece: &Piece| {
        let function = piece.answer.context().function().and_then(|address| case.names().function_known(address));
        is_other(case, piece) && function.is_some_and(|function| functions.contains(&function))
    };
    let pieces = case.claim(named)?;
    (case.ns(&pieces) * 2 >= case.ns(&all)).then_some(pieces)
}

fn is_wakeup(case: &Case, function: u64) -> bool {
    case.names().function_known(function) == Some("hrtimer_wakeup")
}
