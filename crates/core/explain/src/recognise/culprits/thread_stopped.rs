//! The measuring thread was stopped by a signal or a debugger.
//!
//! Proof: `sched_switch` shows it leaving the CPU in state T or t; or, where it left before the record begins, `signal_generate`
//! of the SIGCONT with which the task that wakes it continues it. `signal_generate` says who stopped and continued it.

use super::about::{About, Proof};
use crate::read::event::{Event, EventKind};
use crate::recognise::case::{Case, Claim};
use crate::recognise::evidence::interventions::{interventions, is_stop};
use crate::replay::thread_life::{LifeSpan, LifeState};
use archive::culprit::{Stopped, StoppedBy};
use archive::explanation::Confidence;

pub const ABOUT: About = About {
    recognised: "sched_switch shows the thread leaving the CPU stopped or traced, and not coming back until later, in any phase and as often as it happens; or SIGCONT wakes it",
    events: &["sched_switch"],
    shows: "the thread left the CPU stopped or traced",
    reading: &["Scheduler"],
    proof: Proof::Real { at_most: Confidence::Certain },
    refuted_by: &[],
};

/// Signals whose default is to stop: SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU.
const STOPPING: [i32; 4] = [19, 20, 21, 22];
/// From the signal that stops a process to the stop of a thread of it.
const STOPPING_NS_MAX: i64 = 10_000_000;
pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c, Stopped>> {
    let stops: Vec<&LifeSpan> = case.life.iter().filter(|span| is_stop(case, span)).collect();
    let stop_of = |piece_ns: i64| stops.iter().find(|span| span.contains(piece_ns)).copied();
    let pieces = case.claim_any(|piece| stop_of(piece.start_ns).is_some())?;
    let mut used: Vec<&LifeSpan> = pieces.iter().filter_map(|&index| stop_of(case.pieces[index].start_ns)).collect();
    used.dedup();
    let debugged = used.iter().any(|span| span.state == LifeState::Traced);
    let by_whom = used.iter().find_map(|span| stopped_by(case, span));
    let resumed = used.last().and_then(|span| span.ended).filter(|event| event.tid > 0);
    let longest = used.iter().max_by_key(|span| span.end_ns - span.start_ns)?;
    let facts = Stopped {
        by: match (by_whom, debugged) {
            (Some(by), _) => StoppedBy::Task(case.names().task_name(by.tid)),
            (None, true) => StoppedBy::Debugger,
            (None, false) => StoppedBy::Signal,
        },
        times: used.len(),
        resumed_by: resumed.map(|event| case.names().task_name(event.tid)),
        longest_ns: longest.end_ns - longest.start_ns,
        began_earlier: longest.began.is_none(),
    };
    let bounds = used.iter().flat_map(|span| [span.began, span.ended]).flatten();
    let events = bounds.chain(by_whom).collect();
    Some(Claim { events, ..Claim::new(pieces, Confidence::Certain, facts) })
}

/// The signal that stopped it: the last one before that stops.
fn stopped_by<'c>(case: &Case<'c>, span: &LifeSpan) -> Option<Event<'c>> {
    let began = span.began?;
    // The leader of a watched process is not known.
    let is_meant = |tid: i32| {
        case.input.spike.watched.is_some()
            || tid == case.tool_threads.own_tid
            || case.tool_threads.tool_tids.contains(&tid)
    };
    let stops = |event: &Event| matches!(event.what, EventKind::Signal { signal, tid } if STOPPING.contains(&signal) && is_meant(tid));
    let shortly = |event: &Event| (began.ts_ns - STOPPING_NS_MAX..=began.ts_ns).contains(&event.ts_ns);
    let before = interventions(case).filter(|event| shortly(event) && stops(event));
    before.max_by_key(|event| event.ts_ns)
}
