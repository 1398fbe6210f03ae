//! A watched thread waited for one of lower priority, which a third one kept off the CPU.

use super::about::{About, Proof};
use crate::account::ledger::Piece;
use crate::cut::thread_states::{Awaited, Progress, ThreadState};
use crate::read::event::EventKind;
use crate::read::names::ORDINARY_PRIO;
use crate::read::priority::priority_words;
use crate::recognise::case::{Case, held};
use crate::recognise::stated::Claim;
use crate::replay::context::Context;
use archive::explanation::Confidence;
use words::figures::latency;

pub const ABOUT: About = About {
    recognised: "a watched thread waits for one that is less urgent, which could run and does not because a third one, less urgent than the first and at least as urgent as the second, has the CPU; not while it writes out a file (fsync)",
    events: &["sched_switch", "sched_waking"],
    shows: "who ended the wait, and that a third task had that one's CPU",
    at_most: Confidence::Certain,
    reading: &["RT-mutex implementation design", "Lock types and their rules"],
    proof: Proof::Real,
};

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c>> {
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
        let writes_out = super::waiting::written_out(case, piece).is_some();
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
    let (middle, others) = case
        .largest(&pieces, |case, piece| {
            let tid = piece.answer.context().tid().unwrap_or_default();
            format!("{} ({})", case.names().task(tid), priority_words(case.names().prio(tid)))
        })
        .unwrap_or_default();
    let more = if others > 0 { format!(" and {others} more") } else { String::new() };
    let cpu = case.pieces[*longest].cpu;
    let boosted = case.event(|event| matches!(event.what, EventKind::PiSetPrio { tid, .. } if tid == holder));
    let mut evidence = vec![format!("it waited {} for {} in total", latency(waited_ns), case.names().task(holder))];
    if boosted.is_none() {
        evidence
            .push("no priority was inherited: the trace has no sched_pi_setprio of the thread it waited for".into());
    }
    let wake = case.event(|event| {
        (event.tid == holder || Some(event.tid) == woke)
            && matches!(event.what, EventKind::Waking { tid: woken, .. } if woken == own_tid)
    });
    Some(Claim {
        confidence: Confidence::Certain,
        sentence: format!(
            "priority inversion: {} ({}) waited for {} ({}), which could not run because {middle}{more} held CPU {cpu} ({})",
            case.names().task(own_tid),
            priority_words(Some(own_prio)),
            case.names().task(holder),
            priority_words(case.names().prio(holder)),
            case.share(&pieces)
        ),
        events: wake.into_iter().chain(boosted).collect(),
        evidence,
        confirm: format!(
            "the mutex that {} and {} share: a plain one inherits no priority; `perf lock` or `strace -f -e futex` shows its address",
            case.names().task(own_tid),
            case.names().task(holder)
        ),
        fix: "make the mutex inherit priorities (pthread_mutexattr_setprotocol with PTHREAD_PRIO_INHERIT; in ROS 2 and C++ \
              a mutex of your own around it), or let the urgent thread share nothing with less urgent ones (try_lock, a \
              lock-free queue), or give the one in the middle a lower priority or another CPU"
            .into(),
        pieces,
    })
}
