//! The kernel writes to a console, in a thread of its own or at once.

use super::late_in_task::is_late_in_task;
use super::named::{NOTHING, Named};
use crate::account::ledger::Piece;
use crate::read::event::{Event, EventKind, flag};
use crate::recognise::case::{Case, held};
use crate::replay::context::Context;

/// Threads and functions that write.
pub const WRITERS: Named =
    Named { threads: &["pr/*"], functions: &["*console_write*", "wake_up_klogd_work_func"], ..NOTHING };

/// Whether a part of the latency is known to have been spent on writing.
pub fn is_written(case: &Case) -> bool {
    WRITERS.look(case).is_some() || written_at_once(case).is_some()
}

/// The pieces in which a task wrote a message right after it had logged it.
pub fn written_at_once(case: &Case) -> Option<Vec<usize>> {
    case.claim(|piece| message_before(case, piece).is_some())
}

/// The message that was written in a piece: the last event of its task before the late interrupt at its end.
pub fn message_before<'c>(case: &Case<'c>, piece: &Piece) -> Option<Event<'c>> {
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
