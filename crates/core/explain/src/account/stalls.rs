//! Stretches in which a CPU recorded nothing although something should have happened.
//!
//! Three proofs are accepted. (1) The timer was due, and an event after that was recorded with interrupts enabled: the
//! interrupt was not masked, it was not delivered; or its record or stack trace shows that it came in in the middle of code that
//! masks none. (2) No CPU recorded anything, and on another busy CPU a timer was
//! due meanwhile and also came only afterwards. (3) The CPU was in the middle of code that never takes this long: the
//! timer interrupt itself, the path from an interrupt to its softirqs, the switch from one thread to the next, or a
//! request to the interrupt controller. The silence of a busy CPU alone proves nothing: threads that cause many events
//! stop causing them when they begin to compute. Without proof, a stretch stays with the context that held the CPU.

use crate::account::interrupted_code::InterruptedCode;
use crate::account::ledger::{Answer, Piece};
use crate::read::event::{Event, EventKind, Vector, flag};
use crate::replay::context::Context;
use crate::replay::trace::{CpuActivity, DueTimer, Trace};
use archive::culprit::ControllerRequest;
use archive::explanation::PhaseName;

/// A shorter stretch is ignored.
pub const SILENCE_NS_MIN: i64 = 5_000;
/// Minimum time by which a timer of another CPU must have been overdue: well above the delay of timers in any guest.
const OVERDUE_NS_MIN: i64 = 50_000;
/// Maximum time from the expiry of a timer to the entry of its interrupt.
const ON_ITS_WAY_NS: i64 = 20_000;
/// Maximum time from the end of an interrupt to the next pending one: a hypervisor injects them one after another, each
/// on another entry to the guest.
const AT_ONCE_NS: i64 = 100_000;
/// The other CPU must resume this soon after the stretch, or something else delayed it.
const TOGETHER_NS: i64 = 20_000;
/// Code that is short by design takes microseconds, on any machine.
const STANDSTILL_NS_MIN: i64 = 1_000_000;
/// The longest tick period of any kernel configuration, with a margin.
const TICK_NS_MAX: i64 = 11_000_000;
/// The function of the timers that threads sleep until: the thread that starts one gives up the CPU next.
const SLEEP_TIMER: &str = "hrtimer_wakeup";
/// Timer functions that belong to the kernel and are short: waking a thread, and the tick.
const SHORT_FUNCTIONS: &[&str] = &["hrtimer_wakeup", "tick_nohz_handler", "tick_sched_timer"];

/// Rewrites the pieces that are provably unowned. Keeps their partition. In virtual time there are none.
pub fn attribute(pieces: Vec<Piece>, trace: &Trace, own_tid: i32) -> Vec<Piece> {
    let mut attributed = Vec::with_capacity(pieces.len());
    let standstills = standstills(trace);
    for piece in pieces {
        if matches!(piece.answer, Answer::NotExecuted(_)) {
            attributed.push(piece);
            continue;
        }
        let mut cursor = piece;
        let first = standstills.partition_point(|(_, end_ns)| *end_ns <= piece.start_ns);
        for &(start_ns, end_ns) in standstills[first..].iter().take_while(|(start_ns, _)| *start_ns < piece.end_ns) {
            let (start_ns, end_ns) = (start_ns.max(cursor.start_ns), end_ns.min(cursor.end_ns));
            if start_ns >= end_ns || !others_stood_still(trace, piece.cpu, start_ns, end_ns) {
                continue;
            }
            if start_ns > cursor.start_ns {
                attributed.push(Piece { end_ns: start_ns, ..cursor });
            }
            let answer = Answer::SilenceAllCpus(piece.answer.context());
            attributed.push(Piece { start_ns, end_ns, answer, ..cursor });
            cursor.start_ns = end_ns;
        }
        if cursor.start_ns < cursor.end_ns {
            attributed.push(cursor);
        }
    }
    stood_still(late_on_top(undelivered(attributed, trace), trace, own_tid), trace)
}

/// Stretches in which any timer of a CPU was overdue on top of the measuring thread, with no interrupts masked, as the record of the
/// late interrupt shows: the thread had the CPU and was not executed. Other tasks may have started a timer that was due before.
fn late_on_top(pieces: Vec<Piece>, trace: &Trace, own_tid: i32) -> Vec<Piece> {
    let mut attributed = pieces;
    for activity in &trace.cpus {
        for (start_ns, end_ns) in undelivered_timers(activity, trace) {
            let mut cut = Vec::with_capacity(attributed.len() + 2);
            for piece in attributed {
                let (from_ns, to_ns) = (piece.start_ns.max(start_ns), piece.end_ns.min(end_ns));
                match piece.answer {
                    Answer::Held(context @ Context::Task { .. })
                        if piece.cpu == activity.cpu && context.tid() == Some(own_tid) && from_ns < to_ns =>
                    {
                        let before = Piece { end_ns: from_ns, ..piece };
                        let answer = Answer::SilenceThisCpu(context);
                        let inside = Piece { start_ns: from_ns, end_ns: to_ns, answer, ..piece };
                        let after = Piece { start_ns: to_ns, ..piece };
                        cut.extend([before, inside, after].into_iter().filter(|part| part.start_ns < part.end_ns));
                    }
                    _ => cut.push(piece),
                }
            }
            attributed = cut;
        }
    }
    attributed
}

/// Stalls of a CPU: from the expiry, or the last record of the CPU, to the entry of the interrupt.
fn undelivered_timers<'a>(activity: &'a CpuActivity, trace: &'a Trace) -> impl Iterator<Item = (i64, i64)> {
    activity.late_interrupts.iter().filter_map(|late| {
        let entry_ns = activity.timer_interrupt_at(late.ts_ns)?;
        let unmasked = came_unmasked(activity, trace, entry_ns);
        let before = activity.events_between(i64::MIN, entry_ns.saturating_sub(1)).last().map(|event| event.ts_ns);
        let recorded_ns = before.or(activity.stamps_before.last().map(|stamp| stamp.ts_ns))?;
        let start_ns = late.ts_ns.saturating_sub(late.late_ns).max(recorded_ns);
        (unmasked && entry_ns.saturating_sub(start_ns) >= SILENCE_NS_MIN).then_some((start_ns, entry_ns))
    })
}

/// Stretches between due and seen in which no CPU recorded anything.
fn standstills(trace: &Trace) -> Vec<(i64, i64)> {
    let window = trace.window;
    let mut found = Vec::new();
    if trace.cpus.len() < 2 {
        return found;
    }
    let mut cursor_ns = window.start_ns;
    let mut stamps: Vec<i64> =
        trace.cpus.iter().flat_map(|activity| activity.events.iter().map(|event| event.ts_ns)).collect();
    stamps.sort();
    for ts_ns in stamps.into_iter().chain([window.end_ns]) {
        let (start_ns, end_ns) = (cursor_ns.max(window.due_ns), ts_ns.min(window.seen_ns));
        if end_ns - start_ns >= SILENCE_NS_MIN {
            found.push((start_ns, end_ns));
        }
        cursor_ns = ts_ns;
    }
    found
}

/// Whether another busy CPU proves that it stood still.
fn others_stood_still(trace: &Trace, cpu: u32, start_ns: i64, end_ns: i64) -> bool {
    overdue_elsewhere(trace, cpu, start_ns, end_ns).is_some()
        && trace.cpus.iter().all(|activity| !stops_the_machine(activity, trace, start_ns, end_ns))
}

/// The kernel itself may stop all CPUs, in threads named `migration/N`.
fn stops_the_machine(activity: &CpuActivity, trace: &Trace, start_ns: i64, end_ns: i64) -> bool {
    let contexts = activity.overlapping(start_ns, end_ns).iter().filter_map(|interval| interval.context.tid());
    contexts.into_iter().any(|tid| trace.names.comm(tid).starts_with("migration/"))
}

/// Due in the first half of the stretch or just before it, and handled right after it.
fn is_overdue(timer: &DueTimer, start_ns: i64, end_ns: i64) -> bool {
    let overdue_ns = end_ns - timer.expires_ns;
    let served = |fired_ns: i64| fired_ns >= end_ns && fired_ns - end_ns <= TOGETHER_NS;
    timer.started_ns <= start_ns
        && timer.expires_ns >= start_ns - ON_ITS_WAY_NS
        && overdue_ns >= OVERDUE_NS_MIN
        && overdue_ns >= (end_ns - start_ns) / 2
        && timer.fired_ns.is_some_and(served)
}

/// A timer of a busy CPU other than `cpu` that was due in the stretch and came only after it: (its CPU, its delay in
/// ns).
pub fn overdue_elsewhere(trace: &Trace, cpu: u32, start_ns: i64, end_ns: i64) -> Option<(u32, i64)> {
    let others =
        trace.cpus.iter().filter(|activity| activity.cpu != cpu && busy_throughout(activity, start_ns, end_ns));
    let timers = others.flat_map(|activity| activity.due_timers.iter().map(move |timer| (activity.cpu, timer)));
    timers
        .filter(|(_, timer)| is_overdue(timer, start_ns, end_ns))
        .filter_map(|(cpu, timer)| Some((cpu, timer.fired_ns? - timer.expires_ns)))
        .max_by_key(|&(_, late_ns)| late_ns)
}

fn busy_throughout(activity: &CpuActivity, start_ns: i64, end_ns: i64) -> bool {
    let intervals = activity.overlapping(start_ns, end_ns);
    let covered = intervals.first().is_some_and(|first| first.start_ns <= start_ns)
        && intervals.last().is_some_and(|last| last.end_ns >= end_ns);
    covered && intervals.iter().all(|interval| !interval.context.is_idle())
}

/// The exit from an interrupt restores the interrupt flag: a pending interrupt would have followed at once.
fn leaves_for_longer(event: &Event, to_ns: i64) -> bool {
    let leaves = matches!(event.what, EventKind::VectorExit { .. } | EventKind::IrqExit { .. });
    leaves && event.flags & flag::SOFTIRQ == 0 && to_ns - event.ts_ns >= AT_ONCE_NS
}

/// Whether a whole timer interrupt lies inside of a stretch.
fn serves_timers(activity: &CpuActivity, from_ns: i64, to_ns: i64) -> bool {
    let inside = activity.events_between(from_ns + 1, to_ns - 1);
    let entered = inside.iter().position(|event| event.what == EventKind::VectorEntry { vector: Vector::LocalTimer });
    let left = |event: &Event| event.what == EventKind::VectorExit { vector: Vector::LocalTimer };
    entered.is_some_and(|entered| inside[entered..].iter().any(left))
}

/// Whether the interrupt that was entered then broke into code that had not masked it, and the kernel itself had not deferred it.
fn came_unmasked(activity: &CpuActivity, trace: &Trace, entry_ns: i64) -> bool {
    let deferred = activity.deferrals.iter().any(|deferral| deferral.end_ns == entry_ns);
    !deferred && InterruptedCode::find(activity, trace, entry_ns).is_some_and(|code| code.was_unmasked())
}

/// The timer was due, interrupts were enabled, and it did not come: up to the last event that proves it.
fn undelivered(pieces: Vec<Piece>, trace: &Trace) -> Vec<Piece> {
    let bounds = |piece: &Piece| (piece.cpu, piece.start_ns, piece.end_ns);
    let delay: Vec<(u32, i64, i64)> =
        pieces.iter().filter(|piece| piece.phase == PhaseName::TimerDelay).map(bounds).collect();
    let (Some(&(cpu, from_ns, _)), Some(&(_, _, to_ns))) = (delay.first(), delay.last()) else { return pieces };
    // A timer interrupt executes all timers of its CPU that are due: this one was not among them.
    if trace.cpu(cpu).is_some_and(|activity| serves_timers(activity, from_ns, to_ns)) {
        return pieces;
    }
    let proof_ns = trace.cpu(cpu).and_then(|activity| {
        let events = activity.events_between(from_ns, to_ns).iter();
        events
            .rev()
            .find(|event| {
                event.ts_ns > from_ns && event.ts_ns < to_ns && (event.irqs_on() || leaves_for_longer(event, to_ns))
            })
            .map(|event| event.ts_ns)
    });
    let came_unmasked = trace.cpu(cpu).is_some_and(|activity| came_unmasked(activity, trace, to_ns));
    let proof_ns = if came_unmasked { Some(to_ns) } else { proof_ns };
    let Some(proof_ns) = proof_ns.filter(|proof_ns| proof_ns - from_ns >= SILENCE_NS_MIN) else { return pieces };
    let mut attributed = Vec::with_capacity(pieces.len() + 1);
    for piece in pieces {
        let silent = match piece.answer {
            Answer::Held(context) if piece.phase == PhaseName::TimerDelay && piece.start_ns < proof_ns => {
                matches!(context, Context::Task { .. }).then_some(Answer::SilenceThisCpu(context))
            }
            _ => None,
        };
        let Some(answer) = silent else {
            attributed.push(piece);
            continue;
        };
        let middle_ns = piece.end_ns.min(proof_ns);
        attributed.push(Piece { end_ns: middle_ns, answer, ..piece });
        if middle_ns < piece.end_ns {
            attributed.push(Piece { start_ns: middle_ns, ..piece });
        }
    }
    attributed
}

/// Whether the kernel's own code never takes a millisecond in this context: the timer interrupt without the functions
/// of other code, and the reschedule interrupt.
fn is_short_by_nature(context: Context, trace: &Trace) -> bool {
    match context {
        Context::Vector { vector: Vector::LocalTimer, function: 0 } => true,
        Context::Vector { vector: Vector::LocalTimer, function } => {
            trace.names.function_known(function).is_some_and(|name| SHORT_FUNCTIONS.contains(&name))
        }
        Context::Vector { vector: Vector::Reschedule, function } => function == 0,
        _ => false,
    }
}

/// From the end of an interrupt to the next one that finds the CPU about to run softirqs, before the first softirq: it
/// gets there only on the exit path of an interrupt, or when interrupts are enabled, and then the tick would have come
/// before.
fn leads_to_softirqs(activity: &CpuActivity, from_ns: i64, to_ns: i64) -> bool {
    let at = |ts_ns: i64| activity.events_between(ts_ns, ts_ns);
    let leaves = |event: &Event| {
        matches!(event.what, EventKind::VectorExit { .. } | EventKind::IrqExit { .. })
            && event.flags & flag::SOFTIRQ == 0
    };
    let enters = |event: &Event| event.is_interrupt_entry() && event.flags & flag::SOFTIRQ != 0;
    let serves = |event: &Event| matches!(event.what, EventKind::SoftirqEntry { .. });
    at(from_ns).last().is_some_and(leaves)
        && at(to_ns).first().is_some_and(enters)
        && activity.events.iter().any(serves)
}

/// From the last charge of a thread that falls asleep to the switch away from it: the scheduler has interrupts masked there and
/// only chooses the next thread.
pub fn leads_to_a_switch(activity: &CpuActivity, from_ns: i64, to_ns: i64) -> bool {
    let at = |ts_ns: i64| activity.events_between(ts_ns, ts_ns);
    let left = at(to_ns).iter().find_map(|event| match event.what {
        EventKind::Switch { prev, prev_state, .. } if prev_state & 0xff != 0 => Some(prev),
        _ => None,
    });
    let charged = |event: &Event| {
        matches!(event.what, EventKind::Runtime { tid, .. } if tid == event.tid && Some(tid) == left)
            && event.flags & (flag::HARDIRQ | flag::SOFTIRQ | flag::NMI) == 0
            && event.flags & flag::IRQS_OFF != 0
            && event.preempt_off()
    };
    at(from_ns).last().is_some_and(charged)
}

/// The request in the middle of which a CPU recorded nothing from one event to the next.
pub fn request(activity: &CpuActivity, trace: &Trace, from_ns: i64, to_ns: i64) -> Option<ControllerRequest> {
    let before = activity.events_between(from_ns, from_ns).last()?;
    let after = activity.events_between(to_ns, to_ns).first()?;
    let interrupted = before.flags & (flag::HARDIRQ | flag::SOFTIRQ | flag::NMI) != 0;
    let masked = before.flags & flag::IRQS_OFF != 0 && before.preempt_off();
    if interrupted || !masked || before.tid != after.tid {
        return None;
    }
    let text = || trace.names.text(before.cpu, before.ts_ns).unwrap_or("");
    match (before.what, after.what) {
        (EventKind::Other, EventKind::Wakeup { .. }) if text().starts_with("ipi_send_cpu ") => {
            Some(ControllerRequest::Interrupt)
        }
        (EventKind::HrtimerStart { function, .. }, EventKind::VectorEntry { vector: Vector::LocalTimer })
            if after.depth == before.depth && trace.names.function_known(function) == Some(SLEEP_TIMER) =>
        {
            Some(ControllerRequest::Timer)
        }
        _ => None,
    }
}

/// Where a CPU recorded nothing for so long that it cannot have executed the code that it was in.
fn stood_still(pieces: Vec<Piece>, trace: &Trace) -> Vec<Piece> {
    let not_executed: Vec<Piece> =
        pieces.iter().filter(|piece| matches!(piece.answer, Answer::NotExecuted(_))).copied().collect();
    let stolen_ns = |cpu: u32, from_ns: i64, to_ns: i64| -> i64 {
        let of_cpu = not_executed.iter().filter(|piece| piece.cpu == cpu);
        of_cpu.map(|piece| (piece.end_ns.min(to_ns) - piece.start_ns.max(from_ns)).max(0)).sum()
    };
    let mut attributed = Vec::with_capacity(pieces.len());
    for piece in pieces {
        let (Answer::Held(context), Some(activity)) = (piece.answer, trace.cpu(piece.cpu)) else {
            attributed.push(piece);
            continue;
        };
        let mut rest = piece;
        for (from_ns, to_ns) in activity.pauses(piece.start_ns, piece.end_ns, STANDSTILL_NS_MIN) {
            if to_ns - from_ns - stolen_ns(piece.cpu, from_ns, to_ns) < STANDSTILL_NS_MIN {
                continue;
            }
            let logged = activity.events_between(from_ns, from_ns).iter().any(|event| event.what == EventKind::Message);
            let since_ns = match context {
                Context::Task { .. } if request(activity, trace, from_ns, to_ns).is_some() => from_ns,
                // The kernel writes to a console in the middle of any code that logs.
                _ if is_short_by_nature(context, trace) && !logged => from_ns,
                Context::Task { .. } if leads_to_a_switch(activity, from_ns, to_ns) => from_ns,
                Context::Task { .. }
                    if piece.phase == PhaseName::SchedulingDelay && leads_to_softirqs(activity, from_ns, to_ns) =>
                {
                    from_ns.saturating_add(TICK_NS_MAX)
                }
                _ => continue,
            };
            let (start_ns, end_ns) = (since_ns.max(rest.start_ns), to_ns.min(rest.end_ns));
            if start_ns >= end_ns {
                continue;
            }
            if start_ns > rest.start_ns {
                attributed.push(Piece { end_ns: start_ns, ..rest });
            }
            attributed.push(Piece { start_ns, end_ns, answer: Answer::StoodStill(context), ..rest });
            rest.start_ns = end_ns;
        }
        if rest.start_ns < rest.end_ns {
            attributed.push(rest);
        }
    }
    attributed
}
