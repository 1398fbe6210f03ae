//! Executing programs: a new process frees its memory and has another program mapped, read and faulted in.
//!
//! The program is this one with its version option: it is on every target, and ends at once.

use super::kernel::process::execute_and_wait;
use super::workers::Workers;
use std::ffi::CStr;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

const PROGRAM: &CStr = c"/proc/self/exe";
const ARGUMENTS: [&CStr; 2] = [c"tardy-meter", c"--version"];

pub fn start(workers: &mut Workers) -> io::Result<()> {
    for _ in 0..workers.count() {
        workers.fork("load-exec", work)?;
    }
    Ok(())
}

fn work(counter: &AtomicU64) -> io::Error {
    loop {
        match execute(PROGRAM, &ARGUMENTS) {
            Ok(()) => counter.fetch_add(1, Ordering::Relaxed),
            Err(error) => return error,
        };
    }
}

fn execute(program: &CStr, arguments: &[&CStr; 2]) -> io::Result<()> {
    match execute_and_wait(program, arguments)? {
        Some(0) => Ok(()),
        status => Err(io::Error::other(format!("a program that was executed ended with {status:?}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_fails_ends_the_load() {
        assert!(execute(c"/bin/true", &[c"true", c"x"]).is_ok());
        assert!(execute(c"/bin/false", &[c"false", c"x"]).is_err());
        assert!(execute(c"/nowhere", &[c"nowhere", c"x"]).is_err());
    }
}
