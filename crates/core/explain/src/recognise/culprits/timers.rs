//! Other timers expired in the same interrupt.

use super::about::{About, Proof};
use crate::account::ledger::Piece;
use crate::read::event::Vector;
use crate::read::event_text::relative;
use crate::recognise::case::{Case, Claim, held};
use crate::replay::context::Context;
use crate::replay::timer_deferral::Deferral;
use archive::explanation::{Confidence, PhaseName};
use words::figures::latency;

pub const ABOUT: About = About {
    recognised: "functions of other timers are executed in the timer interrupt; likely where they took so long that the kernel deferred the next one (nr_hangs in /proc/timer_list)",
    confirm: "/proc/timer_list shows which timers a CPU has",
    fix: "keep their owners off the CPU; skew_tick=1 and an interval that is no multiple of the tick spread expiries; nohz_full removes the tick",
    reading: &["hrtimers - subsystem for high-resolution kernel timers", "NO_HZ: Reducing Scheduling-Clock Ticks"],
    proof: Proof::Real,
};

/// Whether another timer's function held the CPU in this piece.
fn is_other(case: &Case, piece: &Piece) -> bool {
    let Some(context) = held(piece) else { return false };
    let timer = matches!(context, Context::Vector { vector: Vector::LocalTimer, .. }) || case.is_wake_interrupt(piece);
    let before_ours = piece.phase == PhaseName::Handler;
    let other = context.function().is_some_and(|function| before_ours || !is_wakeup(case, function));
    timer && context.is_hardirq() && other && piece.phase != PhaseName::WakePath
}

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

/// The pieces of timers with one of these functions, if they took most of the time of other timers.
pub fn mostly(case: &Case, functions: &[&str]) -> Option<Vec<usize>> {
    let all = case.claim(|piece| is_other(case, piece))?;
    let named = |piece: &Piece| {
        let function = piece.answer.context().function().and_then(|address| case.names().function_known(address));
        is_other(case, piece) && function.is_some_and(|function| functions.contains(&function))
    };
    let pieces = case.claim(named)?;
    (case.ns(&pieces) * 2 >= case.ns(&all)).then_some(pieces)
}

/// The stretch around a piece in which the kernel had deferred the timer interrupt because of other timers.
fn deferral<'c>(case: &Case<'c>, piece: &Piece) -> Option<&'c Deferral> {
    case.deferral(piece).filter(|_| held(piece).is_some())
}

/// The instants that a deferral is known by, as a line of evidence.
pub fn deferral_line(case: &Case, deferral: &Deferral) -> String {
    let due_ns = case.trace.window.due_ns;
    format!(
        "the timer interrupt at {} executed timers for {} and the next one came {} after it: a kernel that finds timers due after \
         three rounds defers the next interrupt by as long as this one took",
        relative(deferral.entered_ns, due_ns),
        latency(deferral.interrupt_ns()),
        latency(deferral.end_ns - deferral.start_ns)
    )
}

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c>> {
    let deferred = |piece: &Piece| deferral(case, piece);
    case.claim(|piece| is_other(case, piece) || deferred(piece).is_some())?;
    let pieces = case.claim(|piece| is_other(case, piece) || is_between(case, piece) || deferred(piece).is_some())?;
    let function = |piece: &Piece| match deferred(piece) {
        Some(deferral) => Some(deferral.function),
        None => piece.answer.context().function(),
    };
    let known: Vec<usize> = pieces.iter().copied().filter(|&index| function(&case.pieces[index]).is_some()).collect();
    let (who, others) = case.largest(&known, |case, piece| {
        function(piece).map_or_else(String::new, |function| case.names().function(function))
    });
    let more = if others > 0 { format!(" and {others} others") } else { String::new() };
    let deferral = pieces.iter().find_map(|&index| deferred(&case.pieces[index]));
    let share = case.share(&pieces);
    Some(Claim {
        // That the kernel defers a timer interrupt has no event.
        confidence: if deferral.is_some() { Confidence::Likely } else { Confidence::Certain },
        sentence: match deferral {
            None => format!("other timers ran first in the same interrupt: {who}{more} ({share})"),
            Some(_) => format!(
                "other timers ran first: {who}{more} ({share}); they took so long that the kernel deferred the next timer interrupt"
            ),
        },
        events: Vec::new(),
        evidence: deferral.map(|deferral| deferral_line(case, deferral)).into_iter().collect(),
        confirm: "/proc/timer_list shows which timers this CPU has".into(),
        fix: "keep their owners off this CPU; skew_tick=1 and an interval that is no multiple of the tick spread expiries; nohz_full removes the tick".into(),
        pieces,
    })
}

fn is_wakeup(case: &Case, function: u64) -> bool {
    case.names().function_known(function) == Some("hrtimer_wakeup")
}
