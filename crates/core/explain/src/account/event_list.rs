//! The window as text: every event in order of time, with the phases and the owner of the CPU from each instant on.

use crate::account::ledger::Piece;
use crate::read::named_event::{named_event, relative};
use crate::replay::context::ToolThreads;
use crate::replay::trace::Trace;

pub fn lines(trace: &Trace, pieces: &[Piece], tool_threads: &ToolThreads) -> Vec<String> {
    let due_ns = trace.window.due_ns;
    let mut marks: Vec<(i64, String)> = Vec::new();
    let mut phase = None;
    for piece in pieces {
        let at = relative(piece.start_ns, due_ns);
        if phase != Some(piece.phase) {
            marks.push((piece.start_ns, format!("{at:>14} ---- {} on CPU {}", piece.phase.title(), piece.cpu)));
            phase = Some(piece.phase);
        }
        let kind = piece.answer.kind(tool_threads, &trace.names);
        let name = piece.answer.name(&trace.names);
        marks.push((piece.start_ns, format!("{:>14}      {} ns: {kind:?} {name}", "", piece.ns())));
    }
    marks.push((trace.window.seen_ns, format!("{:>14} ---- seen", relative(trace.window.seen_ns, due_ns))));
    let mut marks = marks.into_iter().peekable();
    let mut lines = Vec::new();
    for event in trace.events_by_time() {
        // A phase or an owner that begins with an event follows it.
        while let Some((_, mark)) = marks.next_if(|(ts_ns, _)| *ts_ns < event.ts_ns) {
            lines.push(mark);
        }
        lines.push(words::trace_event::line(&named_event(&event, due_ns, &trace.names)));
    }
    lines.extend(marks.map(|(_, mark)| mark));
    lines
}
