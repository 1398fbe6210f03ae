//! The workers of one load: processes forked by the supervisor, none of which outlives it.

use super::kernel::counters::Counters;
use super::kernel::process::fork_worker;
use rustix::process::Pid;
use std::io;
use std::path::Path;
use std::sync::atomic::AtomicU64;

/// What a load needs to start its workers.
pub struct Workers<'a> {
    count: u32,
    /// Directory for the load's files; present when the load asked for room.
    directory: Option<&'a Path>,
    counters: &'a Counters,
    forked: usize,
}

impl<'a> Workers<'a> {
    pub fn new(count: u32, directory: Option<&'a Path>, counters: &'a Counters) -> Self {
        Self { count, directory, counters, forked: 0 }
    }

    /// How many to start; at least one.
    pub fn count(&self) -> u32 {
        self.count.max(1)
    }

    /// The load's directory, for loads whose table entry asks for one.
    pub fn directory(&self) -> io::Result<&'a Path> {
        self.directory.ok_or_else(|| io::Error::other("this load was given no directory"))
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
