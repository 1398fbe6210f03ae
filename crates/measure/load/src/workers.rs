//! The workers of one load: processes forked by the supervisor, none of which outlives it.

use super::kernel::counters::Counters;
use super::kernel::process::fork_worker;
use rustix::process::Pid;
use std::io;
use std::path::Path;
use std::sync::atomic::AtomicU64;

/// Everything a load needs to start its workers.
pub struct Workers<'a> {
    count: u32,
    /// Directory for the load's files, if the load needs one.
    directory: Option<&'a Path>,
    counters: &'a Counters,
    forked: usize,
}

impl<'a> Workers<'a> {
    pub fn new(count: u32, directory: Option<&'a Path>, counters: &'a Counters) -> Self {
        Self { count, directory, counters, forked: 0 }
    }

    /// Number of workers to start; at least one.
    pub fn count(&self) -> u32 {
        self.count.max(1)
    }

    /// The load's directory, for loads whose table entry asks for one.
    pub fn directory(&self) -> io::Result<&'a Path> {
        self.directory.ok_or_else(|| io::Error::other("this load was given no directory"))
    }

    /// Forks a worker; `name` is shown in traces, at most 15 characters. `work` counts in the worker's counter and
    /// returns only if it cannot continue; the reason goes to standard error.
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
