//! Time that an idle CPU let pass between the due instant and the thread.

use crate::account::ledger::Piece;
use crate::recognise::case::held;
use crate::replay::context::Context;
use archive::explanation::PhaseName;

/// Maximum exit time of any idle state, and of a return from an otherwise idle host.
pub const LEAVING_NS_MAX: i64 = 1_000_000;

pub fn is_idle_time(piece: &Piece) -> bool {
    matches!(piece.phase, PhaseName::TimerDelay | PhaseName::SchedulingDelay | PhaseName::WakePath)
        && held(piece).is_some_and(Context::is_idle)
}
