//! Another real-time task of at least the same priority had the CPU.

use super::about::{About, Proof};
use crate::account::ledger::Piece;
use crate::recognise::case::{Case, Claim, held};
use crate::replay::context::Context;
use archive::culprit::{KernelPriority, MoreUrgent};
use archive::explanation::{Confidence, OwnerKind, PhaseName};

pub const ABOUT: About = About {
    recognised: "sched_switch gives the CPU to a thread with at least our priority",
    events: &["sched_switch"],
    shows: "the priorities of both, and that the other had the CPU",
    at_most: Confidence::Certain,
    reading: &["Scheduler"],
    proof: Proof::Real,
};

/// The real-time thread that had the CPU by its priority while the measuring thread was runnable.
pub fn interferes(case: &Case, piece: &Piece) -> Option<i32> {
    let could_run = case.kept_off(piece)
        || case.is_held_up_by_another(piece)
        || matches!(piece.phase, PhaseName::ReturnToUser | PhaseName::WakePath);
    let tid = held(piece).and_then(Context::tid)?;
    (could_run && case.kind(piece) == OwnerKind::RtTask && case.outranks(tid, piece)).then_some(tid)
}

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c, MoreUrgent>> {
    let pieces = case.claim(|piece| interferes(case, piece).is_some())?;
    let longest = pieces.iter().map(|&index| &case.pieces[index]).max_by_key(|piece| piece.ns())?;
    let tid = longest.answer.context().tid().unwrap_or_default();
    let facts = MoreUrgent {
        who: case.holders(&pieces),
        tid,
        priority: case.prio_in(tid, longest).map(KernelPriority),
        thread_priority: case.tool_threads.own_prio.map(KernelPriority),
    };
    Some(Claim::new(pieces, Confidence::Certain, facts))
}
