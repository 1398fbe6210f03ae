//! The workers of one load: processes forked by the supervisor, none of which outlives it.

use super::counters::Counters;
use rustix::process::{Pid, Signal, getpid, getppid, set_parent_process_death_signal};
use std::ffi::CString;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::AtomicU64;

/// What a load needs to start its workers.
pub struct Crew<'a> {
    pub workers: u32,
    /// Directory for the load's files; present when the load asked for room.
    pub place: Option<&'a Path>,
    pub counters: &'a Counters,
    forked: usize,
}

impl<'a> Crew<'a> {
    pub fn new(workers: u32, place: Option<&'a Path>, counters: &'a Counters) -> Self {
        Self { workers, place, counters, forked: 0 }
    }

    /// The load's directory, for loads whose table entry asks for one.
    pub fn place(&self) -> io::Result<&'a Path> {
        self.place.ok_or_else(|| io::Error::other("this load was given no directory"))
    }

    /// Forks a worker, `name` being at most 15 characters as traces show it. `work` counts in its own counter and comes
    /// back only when it cannot go on; the reason goes to standard error.
    pub fn fork(&mut self, name: &str, work: impl FnOnce(&AtomicU64) -> io::Error) -> io::Result<Pid> {
        let counter = self.counters.worker(self.forked);
        self.forked += 1;
        fork_worker(name, || {
            let error = work(counter);
            eprintln!("{name}: {error}");
            1
        })
    }
}

/// Forks a process that runs `work`, ends with its result, and is killed when the calling thread ends.
///
/// To be called from a process with one thread only.
pub fn fork_worker(name: &str, work: impl FnOnce() -> i32) -> io::Result<Pid> {
    let supervisor = getpid();
    let name = CString::new(name).unwrap_or_default();
    // SAFETY: a supervisor has a single thread, so the child finds no lock held by a thread that is not there.
    match unsafe { libc::fork() } {
        0 => {
            let code = catch_unwind(AssertUnwindSafe(|| {
                let armed = set_parent_process_death_signal(Some(Signal::KILL)).is_ok();
                // The supervisor may have died before the line above took effect.
                if !armed || getppid() != Some(supervisor) {
                    return 1;
                }
                let _ = rustix::thread::set_name(&name);
                work()
            }))
            .unwrap_or(101);
            // SAFETY: ends the process without running the exit handlers of the process it was forked from.
            unsafe { libc::_exit(code) }
        }
        pid if pid > 0 => Pid::from_raw(pid).ok_or_else(|| io::Error::other("fork returned no process")),
        _ => Err(io::Error::last_os_error()),
    }
}
