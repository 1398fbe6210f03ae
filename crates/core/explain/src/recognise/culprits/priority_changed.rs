//! The measuring thread had a different priority than before or afterwards: something changed it, and less urgent tasks
//! ran.
//!
//! Proof: two scheduler events that show the thread with two priorities, or one that shows a priority other than the
//! one that the meter set and verified, and no event in between in which the thread ran and could have changed it
//! itself; `sched_pi_setprio` for an inherited priority. No event names the task that calls sched_setscheduler for
//! another one.

use super::about::{About, Proof};
use crate::account::ledger::Piece;
use crate::recognise::case::{Case, Claim, held};
use crate::replay::context::Context;
use crate::replay::priorities::PrioChange;
use crate::replay::thread_life::LifeState;
use archive::culprit::{ChangeTime, KernelPriority, PriorityChange};
use archive::explanation::{Confidence, OwnerKind};

pub const ABOUT: About = About {
    recognised: "the scheduler's events show the thread with two priorities, or with another one than it began with, the less urgent one while a task had the CPU that the other one outranks",
    events: &["sched_switch"],
    shows: "two priorities of the thread at two instants",
    reading: &["Scheduler"],
    proof: Proof::Real { at_most: Confidence::Certain },
    refuted_by: &[],
};

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c, PriorityChange>> {
    let own = case.tool_threads.own_tid;
    let changes: Vec<PrioChange> =
        case.trace.priorities.changes(own).filter(|change| is_by_another(case, change)).collect();
    let seen = changes.iter().map(|change| change.old_prio.min(change.new_prio));
    let best = seen.chain(case.input.own_prio).min()?;
    // With its best priority it would have got the CPU.
    let would_run = |piece: &Piece| {
        let lowered = case.own_prio_in(piece).is_some_and(|prio| prio > best);
        let less_urgent = match held(piece) {
            Some(Context::Task { tid, .. }) => {
                matches!(case.kind(piece), OwnerKind::Task | OwnerKind::RtTask)
                    && case.prio_in(tid, piece).is_some_and(|prio| prio > best)
            }
            _ => false,
        };
        case.kept_off(piece) && lowered && less_urgent
    };
    let pieces = case.claim(would_run)?;
    let longest = &case.pieces[*pieces.iter().max_by_key(|&&index| case.pieces[index].ns())?];
    let lowered = changes.iter().rev().find(|change| change.new_prio > best && change.by_ns <= longest.start_ns);
    let raised = changes.iter().find(|change| change.old_prio > best && change.by_ns > longest.start_ns);
    let due_ns = case.trace.window.due_ns;
    let time = |change: &PrioChange| ChangeTime {
        after_ns: change.after_ns.saturating_sub(due_ns),
        by_ns: change.by_ns.saturating_sub(due_ns),
        is_inherited: change.inherited.is_some(),
    };
    let facts = PriorityChange {
        tid: own,
        who: case.holders(&pieces),
        before: KernelPriority(best),
        meanwhile: case.own_prio_in(longest).map(KernelPriority),
        changed: lowered.map(time),
        changed_back: raised.map(time),
    };
    let events = lowered.and_then(|change| change.inherited).into_iter().collect();
    Some(Claim { events, ..Claim::new(pieces, Confidence::Certain, facts) })
}

/// Whether the thread cannot have made the change itself, because it never ran in between.
fn is_by_another(case: &Case, change: &PrioChange) -> bool {
    let ran = |state: LifeState| state == LifeState::Running;
    let between = case.life.iter().filter(|span| span.start_ns < change.by_ns && change.after_ns < span.end_ns);
    !between.into_iter().any(|span| ran(span.state))
}
