//! A watched thread waited in the middle of its work.
//!
//! Proof: `sched_switch` away from it asleep and the `sched_waking` that ended that. Which thread kept it waiting is the end of a chain:
//! the task that woke it, the task that woke that one out of its own sleep, and so on.

use super::about::{About, Proof};
use crate::account::ledger::Piece;
use crate::cut::thread_states::{Awaited, Progress, ThreadState};
use crate::read::event::{Event, EventKind, Vector};
use crate::read::named_event::file_system_words;
use crate::read::names::softirq;
use crate::recognise::case::{Case, held};
use crate::recognise::stated::Claim;
use crate::replay::context::Context;
use archive::explanation::Confidence;

pub const ABOUT: About = About {
    recognised: "a watched thread sleeps in the middle of its work; the chain of the threads that end each other's sleep leads to the one that kept all of them waiting",
    events: &["sched_switch"],
    shows: "the watched thread slept, and who woke it",
    at_most: Confidence::Certain,
    reading: &["Lock types and their rules"],
    proof: Proof::Real,
};

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c>> {
    let own_tid = case.tool_threads.own_tid;
    let pieces = case
        .claim(|piece| case.state_span(piece).is_some_and(|span| matches!(span.state, ThreadState::Waiting { .. })))?;
    let longest = &case.pieces[*pieces.iter().max_by_key(|&&index| case.pieces[index].ns())?];
    let share = case.share(&pieces);
    let awaited = awaited(case, longest);
    let wake = case.event(|event| {
        matches!(event.what, EventKind::Waking { tid, .. } if tid == own_tid)
            && awaited.is_none_or(|awaited| event.tid == awaited.woke)
            && event.ts_ns >= longest.end_ns
    });
    let (sentence, confirm, fix) = match awaited {
        Some(awaited) => {
            let woke = case.names().task(awaited.woke);
            (
                format!(
                    "it waited during its work until {woke} woke it ({share}){}",
                    kept_waiting(case, longest, awaited)
                ),
                format!("`strace -f -e futex,read,poll` on both shows what it shares with {woke}"),
                match awaited.hops {
                    1 => "shorten what the other thread does under the lock, or pass data without a lock".to_owned(),
                    _ => format!(
                        "shorten what {} does, or do not wait for it in the cycle",
                        case.names().task(awaited.tid)
                    ),
                },
            )
        }
        None => (
            format!(
                "it waited during its work for {} ({share})",
                wake.map_or_else(anything, |wake| source(case, &wake))
            ),
            "`strace -f` shows the call it waited in".to_owned(),
            "no file, socket or device in the loop: give them to a thread of lower priority".to_owned(),
        ),
    };
    let written_out = written_out(case, longest);
    let file = written_out.and_then(|event| match event.what {
        EventKind::FileSync { file_system, device } => {
            Some(format!("it wrote out a file (fsync) on {}", file_system_words(file_system, device)))
        }
        _ => None,
    });
    let untraced = pieces.iter().filter(|&&index| held(&case.pieces[index]) == Some(Context::Untraced));
    let untraced_ns: i64 = untraced.map(|&index| case.pieces[index].ns()).sum();
    Some(Claim {
        confidence: match wake {
            // That it waited is known, and not what kept the other from waking it.
            _ if untraced_ns * 2 > case.ns(&pieces) => Confidence::Hint,
            Some(_) => Confidence::Certain,
            None => Confidence::Likely,
        },
        sentence: match &file {
            Some(file) => format!("{sentence}: {file}"),
            None => sentence,
        },
        events: wake.into_iter().chain(written_out).collect(),
        evidence: Vec::new(),
        confirm,
        fix: if file.is_some() {
            "write files out in a thread of lower priority, or log to a tmpfs".into()
        } else {
            fix
        },
        pieces,
    })
}

/// The last file that the thread began to write out before a piece, where it did nothing else of note since.
pub fn written_out<'c>(case: &Case<'c>, piece: &Piece) -> Option<Event<'c>> {
    let own_tid = case.tool_threads.own_tid;
    let events = case.trace.cpus.iter().flat_map(|activity| activity.events_between(i64::MIN, piece.start_ns));
    let own = events.filter(|event| event.tid == own_tid);
    let last = own.filter(|event| matches!(event.what, EventKind::FileSync { .. } | EventKind::HrtimerStart { .. }));
    last.max_by_key(|event| event.ts_ns).filter(|event| matches!(event.what, EventKind::FileSync { .. })).copied()
}

fn awaited(case: &Case, piece: &Piece) -> Option<Awaited> {
    match case.state_span(piece)?.state {
        ThreadState::Waiting { awaited } => awaited,
        _ => None,
    }
}

/// What the thread at the end of the chain did in the longest part of the wait; nothing when it is the one that woke, and ran.
fn kept_waiting(case: &Case, longest: &Piece, awaited: Awaited) -> String {
    let last = case.names().task(awaited.tid);
    let through = match awaited.hops {
        1 => String::new(),
        2 => format!("; that one waited for {last}"),
        hops => format!("; that one waited for {last} at the end of a chain of {hops} threads"),
    };
    let which = if awaited.hops == 1 { format!("; {last}") } else { format!("{through}, which") };
    match awaited.progress {
        Progress::Ran if awaited.hops == 1 => String::new(),
        Progress::Ran => format!("{which} ran on CPU {}", longest.cpu),
        Progress::HeldUp if held(longest) == Some(Context::Untraced) => {
            format!("{which} could not run; the trace does not show what held CPU {}", longest.cpu)
        }
        Progress::HeldUp => {
            let holder = longest.answer.context().name(case.names());
            format!("{which} could not run, because {holder} held CPU {}", longest.cpu)
        }
        Progress::Slept => {
            let ended = case.event(|event| {
                event.ts_ns >= longest.end_ns
                    && matches!(event.what, EventKind::Waking { tid, .. } if tid == awaited.tid)
            });
            format!("{which} waited for {}", ended.map_or_else(anything, |event| source(case, &event)))
        }
    }
}

fn anything() -> String {
    "a device, a timer or a message".into()
}

/// What ended a sleep, by the context in which the sleeper was woken.
fn source(case: &Case, wake: &Event) -> String {
    let activity = case.trace.cpu(wake.cpu);
    let context = activity.and_then(|activity| activity.overlapping(wake.ts_ns, wake.ts_ns + 1).first());
    match context.map(|interval| interval.context) {
        Some(Context::Irq { irq, .. }) => format!("a device ({})", case.names().irq(irq)),
        Some(Context::Vector { vector: Vector::LocalTimer, .. }) => "a timer".into(),
        Some(Context::Softirq { vec, .. }) => match softirq(vec) {
            "BLOCK" => "a block device".into(),
            "NET_RX" | "NET_TX" => "the network".into(),
            "TIMER" | "HRTIMER" => "a timer".into(),
            _ => anything(),
        },
        _ => anything(),
    }
}
