//! A watched thread waited in the middle of its work.
//!
//! Proof: `sched_switch` away from it asleep and the `sched_waking` that ended that. Which thread kept it waiting is the end of a chain:
//! the task that woke it, the task that woke that one out of its own sleep, and so on.

use super::about::{About, Proof};
use crate::account::ledger::Piece;
use crate::cut::thread_states::{Awaited, Progress, ThreadState};
use crate::read::event::{Event, EventKind, Vector};
use crate::read::names::softirq;
use crate::recognise::case::{Case, Claim, held};
use crate::recognise::evidence::file_sync::written_out;
use crate::replay::context::Context;
use archive::culprit::{AwaitedProgress, WaitEnd, Waited, WakeSource, WrittenFile};
use archive::explanation::Confidence;

pub const ABOUT: About = About {
    recognised: "a watched thread sleeps in the middle of its work; the chain of the threads that end each other's sleep leads to the one that kept all of them waiting",
    events: &["sched_switch"],
    shows: "the watched thread slept, and who woke it",
    reading: &["Lock types and their rules"],
    proof: Proof::Real { at_most: Confidence::Certain },
    refuted_by: &[],
};

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c, Waited>> {
    let own_tid = case.tool_threads.own_tid;
    let pieces = case
        .claim(|piece| case.state_span(piece).is_some_and(|span| matches!(span.state, ThreadState::Waiting { .. })))?;
    let longest = &case.pieces[*pieces.iter().max_by_key(|&&index| case.pieces[index].ns())?];
    let awaited = awaited(case, longest);
    let wake = case.event(|event| {
        matches!(event.what, EventKind::Waking { tid, .. } if tid == own_tid)
            && awaited.is_none_or(|awaited| event.tid == awaited.woke)
            && event.ts_ns >= longest.end_ns
    });
    let until = match awaited {
        Some(awaited) => WaitEnd::Thread {
            woke: case.names().task_name(awaited.woke),
            awaited: case.names().task_name(awaited.tid),
            threads: awaited.hops,
            progress: progress(case, longest, awaited),
        },
        None => WaitEnd::Other(wake.map_or(WakeSource::Unknown, |wake| source(case, &wake))),
    };
    let written_out = written_out(case, longest);
    let written = written_out.and_then(|event| match event.what {
        EventKind::FileSync { file_system, device } => Some(WrittenFile { file_system, device }),
        _ => None,
    });
    let untraced = pieces.iter().filter(|&&index| held(&case.pieces[index]) == Some(Context::Untraced));
    let untraced_ns: i64 = untraced.map(|&index| case.pieces[index].ns()).sum();
    let confidence = match wake {
        // That it waited is known, and not what kept the other from waking it.
        _ if untraced_ns * 2 > case.ns(&pieces) => Confidence::Hint,
        Some(_) => Confidence::Certain,
        None => Confidence::Likely,
    };
    let events = wake.into_iter().chain(written_out).collect();
    Some(Claim { events, ..Claim::new(pieces, confidence, Waited { until, written }) })
}

fn awaited(case: &Case, piece: &Piece) -> Option<Awaited> {
    match case.state_span(piece)?.state {
        ThreadState::Waiting { awaited } => awaited,
        _ => None,
    }
}

/// The activity of the thread at the end of the chain in the longest part of the wait.
fn progress(case: &Case, longest: &Piece, awaited: Awaited) -> AwaitedProgress {
    let cpu = longest.cpu;
    match awaited.progress {
        Progress::Ran => AwaitedProgress::Ran { cpu },
        Progress::HeldUp => {
            let traced = held(longest) != Some(Context::Untraced);
            AwaitedProgress::HeldUp { cpu, holder: traced.then(|| longest.answer.context().named(case.names())) }
        }
        Progress::Slept => {
            let ended = case.event(|event| {
                event.ts_ns >= longest.end_ns
                    && matches!(event.what, EventKind::Waking { tid, .. } if tid == awaited.tid)
            });
            AwaitedProgress::Slept(ended.map_or(WakeSource::Unknown, |event| source(case, &event)))
        }
    }
}

/// The event that ended a sleep, by the context in which the sleeper was woken.
fn source(case: &Case, wake: &Event) -> WakeSource {
    let activity = case.trace.cpu(wake.cpu);
    let context = activity.and_then(|activity| activity.overlapping(wake.ts_ns, wake.ts_ns + 1).first());
    match context.map(|interval| interval.context) {
        Some(Context::Irq { irq, .. }) => WakeSource::Device(case.names().interrupt(irq)),
        Some(Context::Vector { vector: Vector::LocalTimer, .. }) => WakeSource::Timer,
        Some(Context::Softirq { vec, .. }) => match softirq(vec) {
            "BLOCK" => WakeSource::BlockDevice,
            "NET_RX" | "NET_TX" => WakeSource::Network,
            "TIMER" | "HRTIMER" => WakeSource::Timer,
            _ => WakeSource::Unknown,
        },
        _ => WakeSource::Unknown,
    }
}
