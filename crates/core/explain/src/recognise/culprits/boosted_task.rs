//! A task of lower priority was boosted above the measuring thread: it held a lock with priority inheritance that a
//! more urgent thread waited for.
//!
//! Proof: `sched_pi_setprio` of the task, before the stretch (boost) or after it (end of the boost), around its time on
//! the CPU.

use super::about::{About, Proof};
use crate::account::ledger::Piece;
use crate::recognise::case::{Case, Claim};
use crate::recognise::evidence::more_urgent::interferes;
use crate::replay::priorities::Boost;
use archive::culprit::{Boosted, KernelPriority};
use archive::explanation::Confidence;

pub const ABOUT: About = About {
    recognised: "the task that has the CPU is less urgent than the thread by itself, and sched_pi_setprio lent it a priority that is at least as urgent",
    events: &["sched_switch", "sched_pi_setprio"],
    shows: "the priority was lent before the task kept the CPU",
    reading: &["RT-mutex implementation design", "Lightweight PI-futexes"],
    proof: Proof::Real { at_most: Confidence::Certain },
    refuted_by: &[],
};

/// The boosted priority of the task that has the CPU in a piece, if nothing else lets it run there.
fn boost<'c>(case: &Case<'c>, piece: &Piece) -> Option<Boost<'c>> {
    let tid = interferes(case, piece)?;
    let boost = case.trace.priorities.boost_at(tid, piece.middle_ns())?;
    (boost.own_prio > case.own_prio_in(piece)?).then_some(boost)
}

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c, Boosted>> {
    let pieces = case.claim(|piece| boost(case, piece).is_some())?;
    let longest = &case.pieces[*pieces.iter().max_by_key(|&&index| case.pieces[index].ns())?];
    let found = boost(case, longest)?;
    let tid = longest.answer.context().tid().unwrap_or_default();
    let lends = found.lent && tid != found.event.tid;
    let facts = Boosted {
        who: case.holders(&pieces),
        tid,
        lender: lends.then(|| case.names().task_name(found.event.tid)),
        lent_priority: KernelPriority(found.prio),
        priority_by_itself: KernelPriority(found.own_prio),
        thread_priority: case.own_prio_in(longest).map(KernelPriority),
    };
    Some(Claim { events: vec![found.event], ..Claim::new(pieces, Confidence::Certain, facts) })
}
