//! A watched thread waited in the middle of its work.

use super::about::{About, Proof};
use crate::cut::thread_states::ThreadState;
use crate::read::event::EventKind;
use crate::recognise::case::{Case, Claim, held};
use crate::replay::context::Context;
use archive::explanation::Confidence;

pub const ABOUT: About = About {
    recognised: "a watched thread sleeps in the middle of its work",
    confirm: "`strace -f` shows the call it waits in",
    fix: "no file, socket or device in the loop; shorten what others do under a lock",
    reading: &["Lock types and their rules"],
    proof: Proof::Real,
};

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c>> {
    let own_tid = case.tool_threads.own_tid;
    let pieces = case
        .claim(|piece| case.state_span(piece).is_some_and(|span| matches!(span.state, ThreadState::Waiting { .. })))?;
    let awaited = |index: &usize| match case.state_span(&case.pieces[*index])?.state {
        ThreadState::Waiting { awaited } => awaited.map(|awaited| awaited.woke),
        _ => None,
    };
    let longest = pieces.iter().max_by_key(|&&index| case.pieces[index].ns())?;
    let share = case.share(&pieces);
    let whom = awaited(longest);
    let wake = case.event(|event| {
        matches!(event.what, EventKind::Waking { tid, .. } if tid == own_tid)
            && whom.is_none_or(|whom| event.tid == whom)
            && event.ts_ns >= case.pieces[*longest].end_ns
    });
    let (sentence, confirm, fix) = match whom {
        Some(tid) => {
            let whom = case.names().task(tid);
            (
                format!("it waited during its work until {whom} woke it ({share})"),
                format!("`strace -f -e futex,read,poll` on both shows what it shares with {whom}"),
                "shorten what the other thread does under the lock, or pass data without a lock".to_owned(),
            )
        }
        None => (
            format!("it waited during its work for a device, a timer or a message ({share})"),
            "`strace -f` shows the call it waited in".to_owned(),
            "no file, socket or device in the loop: give them to a thread of lower priority".to_owned(),
        ),
    };
    let untraced = pieces.iter().filter(|&&index| held(&case.pieces[index]) == Some(Context::Untraced));
    let untraced_ns: i64 = untraced.map(|&index| case.pieces[index].ns()).sum();
    Some(Claim {
        confidence: match wake {
            // That it waited is known, and not what kept the other from waking it.
            _ if untraced_ns * 2 > case.ns(&pieces) => Confidence::Hint,
            Some(_) => Confidence::Certain,
            None => Confidence::Likely,
        },
        sentence,
        events: wake.into_iter().collect(),
        evidence: Vec::new(),
        confirm,
        fix,
        pieces,
    })
}
