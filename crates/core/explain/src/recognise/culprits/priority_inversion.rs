//! A watched thread waited for one of lower priority, which a third one kept off the CPU.

use super::about::{About, Proof};
use crate::account::ledger::Piece;
use crate::cut::thread_states::{Awaited, Progress, ThreadState};
use crate::read::event::EventKind;
use crate::read::names::ORDINARY_PRIO;
use crate::recognise::case::{Case, Claim, held};
use crate::recognise::evidence::file_sync::written_out;
use crate::replay::context::Context;
use archive::culprit::{KernelPriority, PriorityInversion};
use archive::explanation::Confidence;

pub const ABOUT: About = About {
    recognised: "a watched thread waits for one that is less urgent, which could run and does not because a third one, less urgent than the first and at least as urgent as the second, has the CPU; not while it writes out a file (fsync)",
    events: &["sched_switch", "sched_waking"],
    shows: "who ended the wait, and that a third task had that one's CPU",
    reading: &["RT-mutex implementation design", "Lock types and their rules"],
    proof: Proof::Real { at_most: Confidence::Certain },
    refuted_by: &[],
};

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c, PriorityInversion>> {
    let own_tid = case.tool_threads.own_tid;
    let own_prio = case.tool_threads.own_prio?;
    let less_urgent = |tid: i32| case.names().prio(tid).is_some_and(|prio| prio > own_prio);
    let inverted = |piece: &Piece| -> Option<(i32, i32)> {
        let ThreadState::Waiting { awaited: Some(Awaited { tid: holder, progress: Progress::HeldUp, .. }) } =
            case.state_span(piece)?.state
        else {
            return None;
        };
        let middle = held(piece).and_then(Context::tid)?;
        // Among ordinary tasks no priority decides.
        let prio = |tid: i32| case.prio_in(tid, piece).map(|prio| prio.min(ORDINARY_PRIO));
        // A less urgent one than the holder is only slow to give way.
        let outranks = prio(middle).zip(prio(holder)).is_some_and(|(middle, holder)| middle <= holder);
        let writes_out = written_out(case, piece).is_some();
        (middle != holder && middle != own_tid && less_urgent(holder) && less_urgent(middle) && outranks && !writes_out)
            .then_some((holder, middle))
    };
    let pieces = case.claim(|piece| inverted(piece).is_some())?;
    let longest = pieces.iter().max_by_key(|&&index| case.pieces[index].ns())?;
    let (holder, _) = inverted(&case.pieces[*longest])?;
    let woke = case.state_span(&case.pieces[*longest]).and_then(|span| match span.state {
        ThreadState::Waiting { awaited } => awaited.map(|awaited| awaited.woke),
        _ => None,
    });
    let waited_ns: i64 = case
        .thread_states
        .iter()
        .filter(|span| matches!(span.state, ThreadState::Waiting { awaited: Some(awaited) } if awaited.tid == holder))
        .map(|span| span.end_ns - span.start_ns)
        .sum();
    let (middle, others) = case.largest(&pieces, |_, piece| piece.answer.context().tid())?;
    let middle = middle?;
    let boosted = case.event(|event| matches!(event.what, EventKind::PiSetPrio { tid, .. } if tid == holder));
    let wake = case.event(|event| {
        (event.tid == holder || Some(event.tid) == woke)
            && matches!(event.what, EventKind::Waking { tid: woken, .. } if woken == own_tid)
    });
    let priority = |tid: i32| case.names().prio(tid).map(KernelPriority);
    let facts = PriorityInversion {
        thread: case.names().task_name(own_tid),
        thread_priority: KernelPriority(own_prio),
        awaited: case.names().task_name(holder),
        awaited_priority: priority(holder),
        middle: case.names().task_name(middle),
        middle_priority: priority(middle),
        others,
        cpu: case.pieces[*longest].cpu,
        waited_ns,
        is_inherited: boosted.is_some(),
    };
    let events = wake.into_iter().chain(boosted).collect();
    Some(Claim { events, ..Claim::new(pieces, Confidence::Certain, facts) })
}
