//! The text of events, as `cat trace`, `trace-cmd report` and `perf script` print it, as a trace.dat.
//!
//! [`line`] reads one line in each of these forms, with the prefix of a log or the marks of a quoted mail before it; [`convert`]
//! makes records of them.
//! [`stretch`] finds the text of a latency tracer, and [`short`] searches within a line.

pub mod convert;
pub mod line;
pub(crate) mod short;
pub mod stretch;

use line::Line;

/// Lines in which the first event stands.
const HEAD_LINES: usize = 400;

/// Begin of the text of a trace buffer, which has it without events as well.
const BUFFER: &str = "# tracer:";

/// Whether a text is of a trace buffer without events.
pub fn is_of_an_empty_buffer(text: &str) -> bool {
    text.starts_with(BUFFER) && text.lines().all(|line| line.is_empty() || line.starts_with('#'))
}

/// Whether a text has lines of events.
pub fn is_one(text: &str) -> bool {
    text.lines().take(HEAD_LINES).any(|line| Line::parse(line).is_some())
}
