//! The thread of an interrupt that is at least as urgent as the measuring thread.

use super::about::{About, Proof};
use crate::recognise::case::{Case, Claim};
use crate::recognise::evidence::more_urgent::interferes;
use archive::culprit::{KernelPriority, MoreUrgent};
use archive::explanation::Confidence;

pub const ABOUT: About = About {
    recognised: "a thread called irq/N-NAME with at least the late thread's priority has the CPU while the thread could run",
    events: &["sched_switch"],
    shows: "the thread irq/N-NAME had the CPU, and its priority",
    reading: &["SMP IRQ affinity", "Real-time preemption"],
    proof: Proof::Real { at_most: Confidence::Certain },
    refuted_by: &[],
};

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c, MoreUrgent>> {
    let serves = |tid: i32| case.names().comm(tid).starts_with("irq/");
    let pieces = case.claim(|piece| interferes(case, piece).is_some_and(serves))?;
    let longest = pieces.iter().max_by_key(|&&index| case.pieces[index].ns())?;
    let tid = case.pieces[*longest].answer.context().tid()?;
    let facts = MoreUrgent {
        who: case.holders(&pieces),
        tid,
        priority: case.names().prio(tid).map(KernelPriority),
        thread_priority: case.tool_threads.own_prio.map(KernelPriority),
    };
    Some(Claim::new(pieces, Confidence::Certain, facts))
}
