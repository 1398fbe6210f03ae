//! Executing programs: a new process gives its memory back and has another program's mapped, read and faulted in.
//!
//! The program is this one, asked for its version: it is on every target, and ends at once.

use super::crew::Crew;
use rustix::process::{Pid, WaitOptions, waitpid};
use std::ffi::CStr;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

const PROGRAM: &CStr = c"/proc/self/exe";
const ARGUMENTS: [&CStr; 2] = [c"tardy-meter", c"--version"];

pub fn start(crew: &mut Crew) -> io::Result<()> {
    for _ in 0..crew.workers.max(1) {
        crew.fork("load-exec", work)?;
    }
    Ok(())
}

fn work(counter: &AtomicU64) -> io::Error {
    loop {
        match execute_and_wait(PROGRAM, &ARGUMENTS) {
            Ok(()) => counter.fetch_add(1, Ordering::Relaxed),
            Err(error) => return error,
        };
    }
}

fn execute_and_wait(program: &CStr, arguments: &[&CStr; 2]) -> io::Result<()> {
    let arguments = [arguments[0].as_ptr(), arguments[1].as_ptr(), std::ptr::null()];
    let environment = [std::ptr::null()];
    // SAFETY: a worker has a single thread; the child executes a program or ends, it calls nothing that takes a lock.
    match unsafe { libc::fork() } {
        0 => {
            // SAFETY: both lists end with a null, and the strings outlive the call, from which only failure returns.
            unsafe { libc::execve(program.as_ptr(), arguments.as_ptr(), environment.as_ptr()) };
            // SAFETY: ends the process without running the exit handlers of the one it was forked from.
            unsafe { libc::_exit(127) }
        }
        child if child > 0 => match ended(child)? {
            Some(0) => Ok(()),
            code => Err(io::Error::other(format!("a program that was executed ended with {code:?}"))),
        },
        _ => Err(io::Error::last_os_error()),
    }
}

/// Waits for the child; answers its exit status, if it had one.
fn ended(child: i32) -> io::Result<Option<i32>> {
    loop {
        match waitpid(Pid::from_raw(child), WaitOptions::empty()) {
            Ok(Some((_, status))) => return Ok(status.exit_status()),
            Ok(None) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_fails_ends_the_load() {
        assert!(execute_and_wait(c"/bin/true", &[c"true", c"x"]).is_ok());
        assert!(execute_and_wait(c"/bin/false", &[c"false", c"x"]).is_err());
        assert!(execute_and_wait(c"/nowhere", &[c"nowhere", c"x"]).is_err());
    }
}
