//! The window as text: every event in order of time, phase boundaries between them.

use crate::event_line::{line, relative};
use crate::scene::Scene;
use crate::span::Span;

pub fn lines(scene: &Scene, spans: &[Span]) -> Vec<String> {
    let due_ns = scene.window.due_ns;
    let mut marks: Vec<(i64, String)> = Vec::new();
    let mut last = None;
    for span in spans {
        if last != Some(span.phase) {
            let text =
                format!("{:>14} ---- {} on CPU {}", relative(span.start_ns, due_ns), span.phase.title(), span.cpu);
            marks.push((span.start_ns, text));
        }
        last = Some(span.phase);
    }
    marks.push((scene.window.seen_ns, format!("{:>14} ---- seen", relative(scene.window.seen_ns, due_ns))));
    let mut marks = marks.into_iter().peekable();
    let mut lines = Vec::new();
    for event in scene.events_by_time() {
        // The event that begins a phase is the first of it.
        while let Some((_, mark)) = marks.next_if(|(ts_ns, _)| *ts_ns <= event.ts_ns) {
            lines.push(mark);
        }
        lines.push(line(&event, due_ns, &scene.names));
    }
    lines.extend(marks.map(|(_, mark)| mark));
    lines
}
