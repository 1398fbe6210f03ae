//! A watched thread did its own work: the rest of a cycle without any delay by others, and the rest of a late timer
//! whose thread computed until it set it.
//!
//! A computation causes no events, so in a guest the trace does not show that it ran: only the charge of the thread
//! does, and even then the host may have handled an exit or a page fault of the guest.

use super::about::{About, Proof, Unrecorded};
use crate::recognise::case::{Case, Claim};
use crate::recognise::evidence::overrun::overruns;
use archive::culprit::{ForeignText, OwnWork};
use archive::explanation::{Confidence, OwnerKind, PhaseName};

pub const ABOUT: About = About {
    recognised: "a watched thread had the CPU itself, in its cycle or until it set its timer too late; in a guest certain only where the CPU recorded events throughout, and likely where the thread was charged for nearly all of its time on the CPU",
    events: &["sched_switch"],
    shows: "the watched thread had the CPU; in a guest certain only where the CPU recorded events throughout, likely where it was charged for nearly all of its time on the CPU",
    reading: &["Scheduler"],
    proof: Proof::Real { at_most: Confidence::Certain },
    refuted_by: &[Unrecorded::SwitchesOfCpu, Unrecorded::LostEvents],
};

/// Part of the work for which the thread must be charged in full.
const CHARGED_PERCENT_MIN: i64 = 80;

/// Whether the thread was charged for all of its turns on the CPU, or nearly all: others may have had the CPU between them.
fn is_charged(case: &Case, pieces: &[usize]) -> bool {
    let follows = |before: &usize, after: &usize| {
        let (before, after) = (&case.pieces[*before], &case.pieces[*after]);
        before.cpu == after.cpu && before.end_ns == after.start_ns
    };
    let turns = pieces.chunk_by(follows).filter(|turn| case.charged_in_full(turn).is_some());
    let turns_ns: i64 = turns.map(|turn| case.ns(turn)).sum();
    turns_ns * 100 >= case.ns(pieces) * CHARGED_PERCENT_MIN || case.charged_in_full(pieces).is_some()
}

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c, OwnWork>> {
    let pieces = case.claim(|piece| {
        piece.phase == PhaseName::Working && case.kind(piece) == OwnerKind::Own || overruns(case, piece)
    })?;
    let confidence = match case.virtualised() {
        None => Confidence::Certain,
        Some(_) if case.is_seen_throughout(&pieces) => Confidence::Certain,
        Some(_) if is_charged(case, &pieces) => Confidence::Likely,
        Some(_) => Confidence::Hint,
    };
    let overran = pieces.iter().any(|&index| overruns(case, &case.pieces[index]));
    let facts = OwnWork {
        tid: case.tool_threads.own_tid,
        overran,
        host: case.virtualised().filter(|_| confidence == Confidence::Hint).map(ForeignText::from),
    };
    let events = if overran { case.trace.arm().into_iter().collect() } else { Vec::new() };
    Some(Claim { events, ..Claim::new(pieces, confidence, facts) })
}
