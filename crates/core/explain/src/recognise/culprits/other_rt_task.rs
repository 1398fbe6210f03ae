//! Another real-time task of at least the same priority had the CPU.

use super::about::{About, Proof};
use crate::recognise::case::{Case, Claim};
use crate::recognise::evidence::more_urgent::interferes;
use archive::culprit::{KernelPriority, MoreUrgent};
use archive::explanation::Confidence;

pub const ABOUT: About = About {
    recognised: "sched_switch gives the CPU to a thread with at least the late thread's priority; likely where the thread raised its priority itself, which only its next event shows",
    events: &["sched_switch"],
    shows: "the priorities of both, and that the other had the CPU",
    reading: &["Scheduler"],
    proof: Proof::Real { at_most: Confidence::Certain },
    refuted_by: &[],
};

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
    let inferred = case.raised_unseen(tid, longest).is_some();
    let confidence = if inferred { Confidence::Likely } else { Confidence::Certain };
    Some(Claim::new(pieces, confidence, facts))
}
