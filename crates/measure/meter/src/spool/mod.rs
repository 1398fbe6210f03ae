//! A run without a connection: its stream is stored on this machine until the host has fetched it.
//!
//! `start` leaves a [`spooler`] behind, a separate process that starts the meter and puts its output into a [`store`]
//! of bounded size. The host fetches from any byte offset on, as often as the connection is lost: [`attach`]. The meter
//! itself is not aware of this: its connection is the spooler, and if that dies, it ends and restores as usual.

mod attach;
pub(crate) mod control;
mod error;
pub(crate) mod ledger;
pub mod problem;
mod spooler;
mod start;
mod store;
pub(crate) mod stretch;

use error::SpoolError;

const USAGE: &str = "usage: tardy-meter spool start DIR RUN LIMIT_BYTES KEEP_SECONDS ALONE_SECONDS | attach DIR OFFSET
`tardy run` on a board starts this on the board.";

/// Runs the subcommand with these arguments; returns the exit code.
pub fn run(words: &[String]) -> i32 {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let ended = match words[..] {
        ["start", directory, run, limit, keep, alone] => match start::Terms::of(run, limit, keep, alone) {
            Some(terms) => start::start(directory.as_ref(), &terms),
            None => Err(SpoolError::Usage),
        },
        ["keep", directory, run, limit, keep, alone] => match start::Terms::of(run, limit, keep, alone) {
            Some(terms) => spooler::keep(directory.as_ref(), &terms),
            None => Err(SpoolError::Usage),
        },
        ["attach", directory, offset] => match offset.parse() {
            Ok(offset) => attach::attach(directory.as_ref(), offset),
            Err(_) => Err(SpoolError::Usage),
        },
        _ => Err(SpoolError::Usage),
    };
    match ended {
        Ok(()) => 0,
        Err(error) => {
            eprintln!("tardy-meter: {error}");
            2
        }
    }
}
