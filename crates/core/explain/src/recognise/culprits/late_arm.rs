//! The thread returned to its timer after the next wake-up was already due.

use super::about::{About, Proof, Unrecorded};
use crate::account::ledger::Piece;
use crate::recognise::case::{Case, Claim, held};
use crate::recognise::evidence::overrun::overruns;
use crate::recognise::evidence::passed_over::PassedOver;
use crate::replay::context::Context;
use archive::culprit::LateArm;
use archive::explanation::{Confidence, PhaseName};

pub const ABOUT: About = About {
    recognised: "the thread starts its timer after the instant it is due, and was not merely interrupted or pushed aside on the way to it; a watched thread that computed until then is own-work; a hint where the trace shows neither a late wake-up before it nor what had the CPU",
    events: &["hrtimer_start"],
    shows: "the timer was started after its expiry",
    reading: &["hrtimers - subsystem for high-resolution kernel timers"],
    proof: Proof::Real { at_most: Confidence::Certain },
    refuted_by: &[Unrecorded::Interrupts, Unrecorded::WakeUp, Unrecorded::Switch, Unrecorded::LostEvents],
};

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c, LateArm>> {
    let due_ns = case.trace.window.due_ns;
    let previous = case.input.spike.previous_seen_ns;
    let overran = case.previous_overran();
    let passed_over: Vec<Piece> = PassedOver::find(case)
        .map_or_else(Vec::new, |found| found.pieces.iter().map(|&index| case.pieces[index]).collect());
    let pieces = case.claim(|piece| {
        piece.phase == PhaseName::LateArm
            && !case.is_held_up_by_another(piece)
            && !passed_over.contains(piece)
            && (case.input.spike.watched.is_some() || !case.kept_off(piece))
            && !overruns(case, piece)
    })?;
    let untraced = |index: &&usize| held(&case.pieces[**index]) == Some(Context::Untraced);
    let untraced_ns: i64 = pieces.iter().filter(untraced).map(|&index| case.pieces[index].ns()).sum();
    let mostly_untraced = untraced_ns * 2 > case.ns(&pieces);
    let confidence = match case.anchors.armed.is_some() || overran {
        // That the timer was late is known, and not why, unless it is the wake-up before.
        _ if mostly_untraced && !overran => Confidence::Hint,
        true => Confidence::Certain,
        false => Confidence::Likely,
    };
    let largest = case.largest(&pieces, |case, piece| piece.answer.context().named(case.names()));
    let facts = LateArm {
        previous_seen_ns: previous.map(|seen_ns| seen_ns - due_ns),
        meanwhile: largest.filter(|_| !mostly_untraced).map(|(holder, _)| holder),
        interval_ns: case.input.interval_ns as i64,
    };
    Some(Claim { events: case.trace.arm().into_iter().collect(), ..Claim::new(pieces, confidence, facts) })
}
