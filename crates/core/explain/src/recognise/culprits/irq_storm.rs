//! One interrupt firing repeatedly: no single handler is long, together they are. A profiler's samples are one, too.

use super::about::{About, Proof};
use crate::account::ledger::Piece;
use crate::read::event::{Event, EventKind};
use crate::recognise::case::{Case, Claim, held};
use crate::recognise::evidence::deferral;
use crate::recognise::evidence::foreign_interrupt::is_foreign;
use crate::replay::context::Context;
use archive::culprit::{Holder, InterruptStorm, TimerInStorm};
use archive::explanation::{Confidence, PhaseName};
use std::collections::HashMap;

pub const ABOUT: About = About {
    recognised: "one interrupt is entered more than ten times between due and seen, or a profiler samples the CPU by a timer (perf_swevent_hrtimer) more than once, with the interrupts (remote_function) by which it changes the events of the CPU; likely where the kernel deferred the next timer interrupt because the samples took too long",
    events: &[
        "irq_handler_entry|local_timer_entry|reschedule_entry|call_function_entry|call_function_single_entry|irq_work_entry",
    ],
    shows: "each of its entries and exits",
    reading: &["SMP IRQ affinity"],
    proof: Proof::Real { at_most: Confidence::Certain },
    refuted_by: &[],
};

/// Entries of one interrupt between due and seen from which it is a storm.
const ENTRIES_MIN: usize = 11;

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Line {
    Irq(i32),
    Vector(crate::read::event::Vector),
}

fn line_of(context: Context) -> Option<Line> {
    match context {
        Context::Irq { irq, .. } => Some(Line::Irq(irq)),
        Context::Vector { vector, .. } => Some(Line::Vector(vector)),
        _ => None,
    }
}

/// The timer of perf events that no hardware counts.
const PERF_TIMER: &str = "perf_swevent_hrtimer";
/// Functions of perf on the CPU whose events it opens, enables or closes (kernel/events/core.c).
const PERF_CALL: &str = "remote_function";
/// One sample is a timer like any other.
const SAMPLES_MIN: usize = 2;

/// The function that most of a storm's interrupts execute for a timer, and how often.
fn most_frequent_timer<'c>(case: &Case<'c>, pieces: &[usize]) -> Option<(&'c str, usize)> {
    let mut times: HashMap<u64, usize> = HashMap::new();
    for &index in pieces {
        if let Context::Vector { function: function @ 1.., .. } = case.pieces[index].answer.context() {
            *times.entry(function).or_default() += 1;
        }
    }
    let (function, times) = times.into_iter().max_by_key(|&(function, times)| (times, function))?;
    Some((case.names().function_known(function)?, times))
}

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c, InterruptStorm>> {
    samples(case).or_else(|| storm(case))
}

/// Stretches of a CPU that a profiler's timer caused.
#[derive(Default)]
struct Sampling {
    /// Interrupts in which it took a sample or changed the CPU's events: entry and exit.
    interrupts: Vec<(i64, i64)>,
    /// From the end of a sample to the next timer of the same interrupt: the kernel starts the sampling timer again.
    between_timers: Vec<(i64, i64)>,
}

fn sampling(case: &Case) -> Sampling {
    let mut found = Sampling::default();
    let Some(activity) = case.trace.cpu(case.cpu()) else { return found };
    let mut entered_ns = i64::MIN;
    let mut sampled = false;
    let (mut sampling, mut restarted_ns) = (false, None::<i64>);
    for event in &activity.events {
        match event.what {
            EventKind::VectorEntry { .. } => (entered_ns, sampled, restarted_ns) = (event.ts_ns, false, None),
            EventKind::HrtimerExpireEntry { function, .. } => {
                sampling = is_sample(case, function);
                sampled |= sampling;
                found.between_timers.extend(restarted_ns.take().map(|ended_ns| (ended_ns, event.ts_ns)));
            }
            EventKind::HrtimerExpireExit { .. } => restarted_ns = sampling.then_some(event.ts_ns),
            EventKind::CsdEntry { function } => sampled |= case.names().function_known(function) == Some(PERF_CALL),
            EventKind::VectorExit { .. } if sampled => {
                found.interrupts.push((entered_ns, event.ts_ns));
                (sampled, restarted_ns) = (false, None);
            }
            _ => {}
        }
    }
    found
}

fn is_sample(case: &Case, function: u64) -> bool {
    case.names().function_known(function) == Some(PERF_TIMER)
}

fn is_of_profiler(case: &Case, function: u64) -> bool {
    is_sample(case, function) || case.names().function_known(function) == Some(PERF_CALL)
}

/// All interrupts in which a profiler took samples, several of them.
fn samples<'c>(case: &Case<'c>) -> Option<Claim<'c, InterruptStorm>> {
    let window = case.trace.window;
    let Sampling { interrupts, between_timers } = sampling(case);
    let took = |event: &Event| matches!(event.what, EventKind::HrtimerExpireEntry { function, .. } if is_sample(case, function));
    let activity = case.trace.cpu(case.cpu())?;
    let times = activity.events_between(window.due_ns, window.seen_ns).iter().filter(|event| took(event)).count();
    if times < SAMPLES_MIN {
        return None;
    }
    let deferred = |piece: &Piece| {
        case.deferral(piece).filter(|_| held(piece).is_some()).filter(|deferral| is_sample(case, deferral.function))
    };
    let pieces = case.claim(|piece| {
        if piece.cpu == case.cpu() && deferred(piece).is_some() {
            return true;
        }
        let Some(context @ Context::Vector { .. }) = held(piece) else { return false };
        let overlaps = |&(start_ns, end_ns): &(i64, i64)| start_ns <= piece.start_ns && piece.end_ns <= end_ns;
        let wake = case.is_wake_interrupt(piece) && piece.phase != PhaseName::Handler;
        let inside = || match wake {
            true => between_timers.iter().any(overlaps),
            false => interrupts.iter().any(overlaps),
        };
        piece.cpu == case.cpu()
            && (context.function().is_some_and(|function| is_of_profiler(case, function))
                || context.function().is_none() && inside())
    })?;
    let changes =
        |event: &Event| matches!(event.what, EventKind::CsdEntry { function } if is_of_profiler(case, function));
    let changes = activity.events_between(window.due_ns, window.seen_ns).iter().filter(|event| changes(event)).count();
    let deferral = pieces.iter().find_map(|&index| deferred(&case.pieces[index]));
    let facts = InterruptStorm::Profiler {
        cpu: case.cpu(),
        timer: PERF_TIMER.into(),
        samples: times,
        per_second: times as i64 * 1_000_000_000 / case.latency_ns().max(1),
        changes,
        deferred: deferral.is_some(),
    };
    // That the kernel defers a timer interrupt has no event.
    let confidence = if deferral.is_some() { Confidence::Likely } else { Confidence::Certain };
    let evidence = deferral.map(|deferral| deferral::shown(case, deferral)).into_iter().collect();
    Some(Claim { evidence, ..Claim::new(pieces, confidence, facts) })
}

fn storm<'c>(case: &Case<'c>) -> Option<Claim<'c, InterruptStorm>> {
    let window = case.trace.window;
    let activity = case.trace.cpu(case.cpu())?;
    let mut entries: HashMap<Line, usize> = HashMap::new();
    for event in activity.events_between(window.due_ns, window.seen_ns) {
        let line = match event.what {
            EventKind::IrqEntry { irq } => Line::Irq(irq),
            EventKind::VectorEntry { vector } => Line::Vector(vector),
            _ => continue,
        };
        *entries.entry(line).or_default() += 1;
    }
    let (line, count) = entries.into_iter().max_by_key(|&(_, count)| count)?;
    if count < ENTRIES_MIN {
        return None;
    }
    let pieces = case.claim(|piece| is_foreign(case, piece) && line_of(piece.answer.context()) == Some(line))?;
    let who = case.largest(&pieces, |case, piece| piece.answer.context().holder().named(case.names()));
    let facts = InterruptStorm::Line {
        who: who.map_or(Holder::Untraced, |(who, _)| who),
        entries: count,
        per_second: count as i64 * 1_000_000_000 / case.latency_ns().max(1),
        irq: match line {
            Line::Irq(irq) => Some(irq),
            Line::Vector(_) => None,
        },
        timer: most_frequent_timer(case, &pieces)
            .map(|(function, times)| TimerInStorm { function: function.into(), times }),
    };
    Some(Claim::new(pieces, Confidence::Certain, facts))
}
