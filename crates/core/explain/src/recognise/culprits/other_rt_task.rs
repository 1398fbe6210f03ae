//! Another real-time task of at least the same priority had the CPU.

use super::about::{About, Proof};
use crate::account::ledger::Piece;
use crate::read::priority::priority_words;
use crate::recognise::case::{Case, Claim, held};
use crate::replay::context::Context;
use archive::explanation::{Confidence, OwnerKind, PhaseName};

pub const ABOUT: About = About {
    recognised: "sched_switch gives the CPU to a thread with at least our priority",
    confirm: "ps -eLo tid,cls,rtprio,psr,comm lists all real-time threads",
    fix: "lower it (chrt -p -f 1 TID), raise ours (--priority, below 99), or move it off the CPU (taskset -p)",
    reading: &["Scheduler"],
    proof: Proof::Real,
};

/// The real-time thread that had the CPU by its priority while the measuring thread was runnable.
pub fn interferes(case: &Case, piece: &Piece) -> Option<i32> {
    let could_run = case.kept_off(piece)
        || case.is_held_up_by_another(piece)
        || matches!(piece.phase, PhaseName::ReturnToUser | PhaseName::WakePath);
    let tid = held(piece).and_then(Context::tid)?;
    (could_run && case.kind(piece) == OwnerKind::RtTask && case.outranks(tid, piece)).then_some(tid)
}

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c>> {
    let pieces = case.claim(|piece| interferes(case, piece).is_some())?;
    let longest = pieces.iter().map(|&index| &case.pieces[index]).max_by_key(|piece| piece.ns())?;
    let tid = longest.answer.context().tid().unwrap_or_default();
    let ours = priority_words(case.tool_threads.own_prio);
    let theirs = priority_words(case.prio_in(tid, longest));
    let who = case.culprits(&pieces);
    Some(Claim {
        confidence: Confidence::Certain,
        sentence: format!("{who} ran at {theirs}; the thread has {ours} ({})", case.share(&pieces)),
        events: Vec::new(),
        evidence: Vec::new(),
        confirm: format!("chrt -p {tid}; ps -eLo tid,cls,rtprio,psr,comm lists all real-time threads"),
        fix: format!("lower it (chrt -p -f 1 {tid}), raise ours (--priority), or move it off this CPU (taskset -p)"),
        pieces,
    })
}
