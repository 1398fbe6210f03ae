//! A file that the thread writes out.

use crate::account::ledger::Piece;
use crate::read::event::{Event, EventKind};
use crate::recognise::case::Case;

/// The last file that the thread began to write out before a piece, where it did nothing else of note since.
pub fn written_out<'c>(case: &Case<'c>, piece: &Piece) -> Option<Event<'c>> {
    let own_tid = case.tool_threads.own_tid;
    let events = case.trace.cpus.iter().flat_map(|activity| activity.events_between(i64::MIN, piece.start_ns));
    let own = events.filter(|event| event.tid == own_tid);
    let last = own.filter(|event| matches!(event.what, EventKind::FileSync { .. } | EventKind::HrtimerStart { .. }));
    last.max_by_key(|event| event.ts_ns).filter(|event| matches!(event.what, EventKind::FileSync { .. })).copied()
}
