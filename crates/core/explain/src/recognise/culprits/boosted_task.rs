//! A task of lower priority was boosted above the measuring thread: it held a lock with priority inheritance that a
//! more urgent thread waited for.
//!
//! Proof: `sched_pi_setprio` of the task, before the stretch (boost) or after it (end of the boost), around its time on
//! the CPU.

use super::about::{About, Proof};
use super::other_rt_task::interferes;
use crate::account::ledger::Piece;
use crate::read::priority::priority_words;
use crate::recognise::case::{Case, Claim};
use crate::replay::priorities::Boost;
use archive::explanation::Confidence;

pub const ABOUT: About = About {
    recognised: "the task that has the CPU is less urgent than the thread by itself, and sched_pi_setprio lent it a priority that is at least as urgent",
    confirm: "sched:sched_pi_setprio shows who lends the priority; `strace -f -e futex` on both shows the mutex (FUTEX_LOCK_PI)",
    fix: "shorten what the task does under the mutex; no mutex between the thread that waits for it and less urgent ones; or a priority above both",
    reading: &["RT-mutex implementation design", "Lightweight PI-futexes"],
    proof: Proof::Real,
};

/// The boosted priority of the task that has the CPU in a piece, if nothing else lets it run there.
fn boost<'c>(case: &Case<'c>, piece: &Piece) -> Option<Boost<'c>> {
    let tid = interferes(case, piece)?;
    let boost = case.trace.priorities.boost_at(tid, piece.middle_ns())?;
    (boost.own_prio > case.own_prio_in(piece)?).then_some(boost)
}

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c>> {
    let pieces = case.claim(|piece| boost(case, piece).is_some())?;
    let longest = &case.pieces[*pieces.iter().max_by_key(|&&index| case.pieces[index].ns())?];
    let found = boost(case, longest)?;
    let lender = match found.lent && longest.answer.context().tid() != Some(found.event.tid) {
        true => format!("{} waits for a lock that it holds and lent it", case.names().task(found.event.tid)),
        false => "a thread that waits for a lock that it holds lent it".to_owned(),
    };
    let tid = longest.answer.context().tid().unwrap_or_default();
    Some(Claim {
        confidence: Confidence::Certain,
        sentence: format!(
            "{} ran by priority inheritance: {lender} {}, above the thread's {} ({}); by itself it has {}",
            case.culprits(&pieces),
            priority_words(Some(found.prio)),
            priority_words(case.own_prio_in(longest)),
            case.share(&pieces),
            priority_words(Some(found.own_prio)),
        ),
        events: vec![found.event],
        evidence: Vec::new(),
        confirm: format!(
            "`strace -f -e futex -p {tid}` shows the mutex (FUTEX_LOCK_PI); sched:sched_pi_setprio who waits for it"
        ),
        fix: ABOUT.fix.into(),
        pieces,
    })
}
