//! One interrupt firing repeatedly: no single handler is long, together they are.

use super::about::{About, Proof};
use super::previous_irq::is_foreign;
use crate::read::event::EventKind;
use crate::recognise::case::{Case, Claim};
use crate::replay::context::Context;
use archive::explanation::Confidence;
use std::collections::HashMap;

pub const ABOUT: About = About {
    recognised: "one interrupt is entered more than ten times between due and seen",
    confirm: "the rate in /proc/interrupts; /proc/irq/N/spurious counts unhandled interrupts",
    fix: "raise its coalescing, move it, or unplug the device",
    reading: &["SMP IRQ affinity"],
    proof: Proof::MadeUp,
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

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c>> {
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
    let (who, _) = case.largest(&pieces, |case, piece| match piece.answer.context() {
        Context::Irq { irq, .. } => case.names().irq(irq),
        Context::Vector { vector, .. } => vector.name().to_owned(),
        context => context.name(case.names()),
    });
    let timers = most_frequent_timer(case, &pieces);
    let sampled = timers.is_some_and(|(function, _)| function == PERF_TIMER);
    let what = timers.map(|(function, times)| {
        format!(", {times} times to execute {function}{}", if sampled { " (perf record)" } else { "" })
    });
    let rate_hz = count as i64 * 1_000_000_000 / case.latency_ns().max(1);
    let fix = match line {
        Line::Irq(irq) => format!(
            "raise its coalescing, move it (/proc/irq/{irq}/smp_affinity_list), or unplug the device; a device on a shared line may never clear its interrupt"
        ),
        Line::Vector(_) if sampled => "stop `perf record`, or sample less often (-F); it samples by a timer where the machine has no counters for it".into(),
        Line::Vector(_) => {
            "find the sender with ipi:ipi_send_cpu or timer:hrtimer_start and keep it off this CPU".into()
        }
    };
    Some(Claim {
        confidence: Confidence::Certain,
        sentence: format!("{who} fired {count} times{} ({})", what.unwrap_or_default(), case.share(&pieces)),
        events: Vec::new(),
        evidence: vec![format!("{count} entries between due and seen, {rate_hz} per second")],
        confirm: "watch the rate in /proc/interrupts; /proc/irq/*/spurious counts unhandled interrupts".into(),
        fix,
        pieces,
    })
}
