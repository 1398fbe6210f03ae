//! Forking, executing and exiting immediately, for single-threaded processes.

use rustix::process::{Pid, Signal, WaitOptions, getpid, getppid, set_parent_process_death_signal, waitpid};
use std::ffi::{CStr, CString};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Exit status of a worker that panicked, the same as Rust's.
const PANICKED: i32 = 101;

/// Forks a process that runs `work`, exits with its result, and is killed when the calling thread ends.
///
/// Must be called from a single-threaded process. `name` is shown in traces, at most 15 characters.
///
/// # Errors
/// Errors of fork(2).
pub fn fork_worker(name: &str, work: impl FnOnce() -> i32) -> io::Result<Pid> {
    let supervisor = getpid();
    let name = CString::new(name).unwrap_or_default();
    fork(|| {
        catch_unwind(AssertUnwindSafe(|| {
            let armed = set_parent_process_death_signal(Some(Signal::KILL)).is_ok();
            // The supervisor may have died before the line above took effect.
            if !armed || getppid() != Some(supervisor) {
                return 1;
            }
            let _ = rustix::thread::set_name(&name);
            work()
        }))
        .unwrap_or(PANICKED)
    })
}

/// Forks a process that runs `work`, and waits for its end. Must be called from a single-threaded process.
///
/// # Errors
/// Errors of fork(2).
pub fn fork_and_wait(work: impl FnOnce()) -> io::Result<()> {
    let child = fork(|| {
        work();
        0
    })?;
    wait_for(child).map(|_| ())
}

/// Forks, executes a program with an empty environment and waits for its end; returns its exit status, if it has one.
///
/// # Errors
/// Errors of fork(2). A program that cannot be executed ends with 127.
pub fn execute_and_wait(program: &CStr, arguments: &[&CStr; 2]) -> io::Result<Option<i32>> {
    let arguments = [arguments[0].as_ptr(), arguments[1].as_ptr(), std::ptr::null()];
    let environment = [std::ptr::null()];
    let child = fork(|| {
        // SAFETY: both lists end with a null, and the strings outlive the call, from which only failure returns.
        unsafe { libc::execve(program.as_ptr(), arguments.as_ptr(), environment.as_ptr()) };
        127
    })?;
    wait_for(child)
}

/// Ends the process without running exit handlers.
pub fn exit_at_once(status: i32) -> ! {
    // SAFETY: takes no pointers and does not return.
    unsafe { libc::_exit(status) }
}

fn fork(child: impl FnOnce() -> i32) -> io::Result<Pid> {
    // SAFETY: the callers have a single thread, so the child finds no lock held by a thread that is not there.
    match unsafe { libc::fork() } {
        0 => exit_at_once(child()),
        pid if pid > 0 => Pid::from_raw(pid).ok_or_else(|| io::Error::other("fork returned no process")),
        _ => Err(io::Error::last_os_error()),
    }
}

fn wait_for(child: Pid) -> io::Result<Option<i32>> {
    loop {
        match waitpid(Some(child), WaitOptions::empty()) {
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
    fn the_exit_status_of_a_program_is_returned() {
        let status = |program: &CStr| execute_and_wait(program, &[c"program", c"x"]).expect("a child");
        assert_eq!(status(c"/bin/true"), Some(0));
        assert_eq!(status(c"/bin/false"), Some(1));
        assert_eq!(status(c"/nowhere"), Some(127));
    }
}
