//! The kernel writes to a console.
//!
//! PREEMPT_RT kernels have threads for it. All others write in the context of the code that logs, with preemption
//! disabled and interrupts masked, one message after the other: the trace has no function of it, only the event of the
//! message.

use super::about::{About, Proof};
use super::irqs_off::is_late_in_task;
use super::named::{NOTHING, Named};
use crate::account::ledger::Piece;
use crate::read::event::{Event, EventKind, flag};
use crate::recognise::case::{Case, Claim, held};
use crate::replay::context::Context;
use archive::culprit::Console;
use archive::explanation::Confidence;

pub const ABOUT: About = About {
    recognised: "a printing thread (pr/NAME) has the CPU while the thread could run, or a *console_write function holds it; or a task had a message (printk:console), recorded nothing of its own after it, and the section that began there delayed the timer interrupt or kept the CPU from the thread",
    events: &["console|sched_switch"],
    shows: "the printing thread by name, or a message right before the interrupts came late",
    at_most: Confidence::Certain,
    reading: &["Message logging with printk", "The kernel's command-line parameters"],
    proof: Proof::Real,
};

const NAMED: Named =
    Named { threads: &["pr/*"], functions: &["*console_write*", "wake_up_klogd_work_func"], ..NOTHING };

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c, Console>> {
    let by_name = NAMED.look(case).map(|claim| claim.map(Console::Named));
    by_name.or_else(|| at_once(case))
}

/// A task that logged a message and wrote it, up to the interrupt that it had masked meanwhile: the timer interrupt of the wake-up, or
/// the next one, where the wake-up came between the message and the writing.
fn at_once<'c>(case: &Case<'c>) -> Option<Claim<'c, Console>> {
    let pieces = case.claim(|piece| message_before(case, piece).is_some())?;
    let longest = pieces.iter().max_by_key(|&&index| case.pieces[index].ns())?;
    let message = message_before(case, &case.pieces[*longest])?;
    let delayed_timer = is_late_in_task(&case.pieces[*longest]);
    let facts = Console::AtOnce { who: case.holders(&pieces), delayed_timer };
    Some(Claim { events: vec![message], ..Claim::new(pieces, Confidence::Likely, facts) })
}

/// The message that was written in a piece: the last event of its task before the late interrupt at its end.
fn message_before<'c>(case: &Case<'c>, piece: &Piece) -> Option<Event<'c>> {
    let delays = is_late_in_task(piece) || matches!(held(piece), Some(Context::Task { .. })) && case.kept_off(piece);
    let tid = held(piece).filter(|_| delays).and_then(Context::tid)?;
    let activity = case.trace.cpu(piece.cpu)?;
    let next = activity.events.partition_point(|event| event.ts_ns < piece.end_ns);
    let entry = activity.events.get(next)?;
    // An interrupt between the message and the masked section does not change which task writes.
    let of_the_task = |event: &&Event| event.flags & (flag::HARDIRQ | flag::SOFTIRQ | flag::NMI) == 0;
    let last = match activity.events[..next].iter().rfind(of_the_task) {
        Some(last) => last,
        None => activity.before.message.as_ref()?,
    };
    let interrupted_ns = activity.events[..next].last().map_or(last.ts_ns, |event| event.ts_ns.max(last.ts_ns));
    let still_at_it = entry.is_interrupt_entry() && entry.tid == tid && entry.preempt_off();
    let writes = last.what == EventKind::Message && last.tid == tid;
    let written_ns = piece.end_ns - interrupted_ns.max(piece.start_ns);
    (still_at_it && writes && written_ns * 2 >= piece.ns()).then_some(*last)
}
