//! Text for people: pages of lines, tables, figures with units. Everything escapes what must not reach a terminal.

/// Says a line to a person, on standard error. Where nobody is left to hear it, the terminal closed or the pipe cut, the
/// measurement goes on: `eprintln!` would end it in the middle.
macro_rules! complain {
    ($($words:tt)*) => {{
        let _ = std::io::Write::write_fmt(&mut std::io::stderr(), format_args!("{}\n", format_args!($($words)*)));
    }};
}

pub mod explained;
pub mod json;
pub mod kernel_tracers;
pub mod page;
pub mod progress;
pub mod screen;
pub mod summary;
pub mod table;
pub mod watched;
