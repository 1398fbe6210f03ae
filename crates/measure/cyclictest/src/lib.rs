//! The interface of rt-tests' cyclictest: its options and output, without its silent errors.
//!
//! [`options`] is the table of options. [`request`] parses a command line; [`plan`] converts it to threads on this
//! machine. [`thread`] measures with the cycles and counters of [`meter::measure`] while [`printing`] prints. [`run`]
//! combines all of them.

#![forbid(unsafe_code)]

mod cpu_list;
mod date;
mod error;
mod figures;
mod getopt;
mod help;
mod histogram_text;
mod idle_state;
mod json;
mod machine;
mod markers;
pub mod options;
mod output_file;
mod plan;
mod printing;
mod request;
mod results;
mod run;
#[cfg(test)]
mod sample_figures;
mod smi;
mod status_fifo;
mod status_file;
mod tally;
mod text;
mod thread;
mod threads;
mod tracing;

pub use run::run;

/// Whether a program of this name behaves as cyclictest.
pub fn is_name(program: &str) -> bool {
    program.rsplit('/').next() == Some("cyclictest")
}
