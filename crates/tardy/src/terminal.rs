//! Text output: pages of lines, tables, numbers with units. Everything here escapes characters that must not reach a
//! terminal.

/// Prints a line on standard error. If standard error is closed, the measurement continues: `eprintln!` would panic in
/// the middle of it.
macro_rules! complain {
    ($($words:tt)*) => {{
        let text = $crate::terminal::folded::for_stderr(&format!($($words)*));
        let _ = std::io::Write::write_fmt(&mut std::io::stderr(), format_args!("{text}\n"));
    }};
}

pub mod answer;
pub mod block_requests;
pub mod clock_alarm;
pub mod explained;
pub mod folded;
pub mod historical_results;
pub mod json;
pub mod kernel_tracers;
pub mod latency_columns;
pub mod page;
pub mod progress;
pub mod roles;
pub mod screen;
pub mod short;
pub mod stimulus;
pub mod summary;
pub mod table;
pub mod watched;
