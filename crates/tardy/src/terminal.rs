//! Text output: pages of lines, tables, numbers with units. Everything here escapes characters that must not reach a
//! terminal.

/// Prints a line on standard error. If standard error is closed, the measurement continues: `eprintln!` would panic in
/// the middle of it.
macro_rules! complain {
    ($($words:tt)*) => {{
        let _ = std::io::Write::write_fmt(&mut std::io::stderr(), format_args!("{}\n", format_args!($($words)*)));
    }};
}

pub mod block_requests;
pub mod explained;
pub mod json;
pub mod kernel_tracers;
pub mod page;
pub mod progress;
pub mod screen;
pub mod summary;
pub mod table;
pub mod watched;
