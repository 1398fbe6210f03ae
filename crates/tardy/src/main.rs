//! The command `tardy`.

use std::process::ExitCode;
use std::thread::Builder;

/// Stack of the thread that runs a verb: a shell may give the first thread less than a verb needs.
const STACK_BYTES: usize = 8 << 20;

fn main() -> ExitCode {
    match Builder::new().stack_size(STACK_BYTES).spawn(tardy::command_line::main) {
        Ok(running) => running.join().unwrap_or(ExitCode::FAILURE),
        Err(_) => tardy::command_line::main(),
    }
}
