//! Other timers expired in the same interrupt.

use super::about::{About, EXPIRED, Proof, Unrecorded};
use crate::account::ledger::Piece;
use crate::read::event::Vector;
use crate::recognise::case::{Case, Claim, held};
use crate::recognise::evidence::{deferral, other_timers::is_other};
use crate::replay::context::Context;
use crate::replay::timer_deferral::Deferral;
use archive::culprit::OtherTimers;
use archive::explanation::Confidence;

pub const ABOUT: About = About {
    recognised: "functions of other timers are executed in the timer interrupt; likely where they took so long that the kernel deferred the next one (nr_hangs in /proc/timer_list)",
    events: EXPIRED,
    shows: "the functions, between their entries and exits",
    reading: &["hrtimers - subsystem for high-resolution kernel timers", "NO_HZ: Reducing Scheduling-Clock Ticks"],
    proof: Proof::Real { at_most: Confidence::Certain },
    refuted_by: &[Unrecorded::WakeUp],
};

/// Whether the interrupt was between two timers here, and the previous one belonged to another thread: the kernel
/// finishes it and looks for the next one.
fn is_between(case: &Case, piece: &Piece) -> bool {
    let Some(context) = held(piece) else { return false };
    let timer = matches!(context, Context::Vector { vector: Vector::LocalTimer, .. }) || case.is_wake_interrupt(piece);
    if !timer || context.function().is_some() {
        return false;
    }
    let after = case.pieces.partition_point(|known| known.start_ns < piece.end_ns);
    let before = case.pieces.partition_point(|known| known.end_ns <= piece.start_ns).checked_sub(1);
    let (before, after) = (before.and_then(|index| case.pieces.get(index)), case.pieces.get(after));
    let is_timer = |next: &&Piece| {
        next.cpu == piece.cpu && held(next).is_some_and(|context| context.is_hardirq() && context.function().is_some())
    };
    before.is_none_or(|before| is_other(case, before)) && after.as_ref().is_some_and(is_timer)
}

/// The stretch around a piece in which the kernel had deferred the timer interrupt because of other timers.
fn deferral<'c>(case: &Case<'c>, piece: &Piece) -> Option<&'c Deferral> {
    case.deferral(piece).filter(|_| held(piece).is_some())
}

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c, OtherTimers>> {
    let deferred = |piece: &Piece| deferral(case, piece);
    case.claim(|piece| is_other(case, piece) || deferred(piece).is_some())?;
    let pieces = case.claim(|piece| is_other(case, piece) || is_between(case, piece) || deferred(piece).is_some())?;
    let function = |piece: &Piece| match deferred(piece) {
        Some(deferral) => Some(deferral.function),
        None => piece.answer.context().function(),
    };
    let known: Vec<usize> = pieces.iter().copied().filter(|&index| function(&case.pieces[index]).is_some()).collect();
    let largest =
        case.largest(&known, |case, piece| function(piece).map(|function| case.names().function_name(function)));
    let (function, others) = largest.unwrap_or_default();
    let deferral = pieces.iter().find_map(|&index| deferred(&case.pieces[index]));
    // That the kernel defers a timer interrupt has no event.
    let confidence = if deferral.is_some() { Confidence::Likely } else { Confidence::Certain };
    let facts = OtherTimers { function, others, deferred: deferral.is_some() };
    let evidence = deferral.map(|deferral| deferral::shown(case, deferral)).into_iter().collect();
    Some(Claim { evidence, ..Claim::new(pieces, confidence, facts) })
}
