//! What a measuring thread waits for, cycle after cycle: the part of a method that runs in its loop.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// How a wait ended. Instants are CLOCK_MONOTONIC in ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrival {
    /// The instant that was asked for has passed.
    Due { seen_ns: i64 },
    /// The answer to a stimulus that was given at `given_ns`; so many planned ones were left out before it.
    Stimulus { given_ns: i64, seen_ns: i64, skipped: u64 },
    /// The thread never slept: it was busy from one look at the clock to the next.
    Busy { from_ns: i64, until_ns: i64 },
    /// Nothing came in the time that the method allows.
    NoSignal,
    /// There will be no further stimulus.
    Ended,
}

/// Waits in a measuring thread. Apart from [`Waiter::prepare`] nothing in here may allocate, lock, format or open files.
pub trait Waiter: Send {
    /// Called once in the measuring thread, after it has its scheduling and before the first wait.
    ///
    /// # Errors
    /// What the kernel refused.
    fn prepare(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Waits once. `due_ns` is when the schedule of the thread wants the next sample; a method with its own pace ignores it.
    fn wait(&mut self, due_ns: i64) -> Arrival;

    /// A spike was just marked in the trace, which took time that belongs to no sample.
    fn marked(&mut self) {}
}

/// What a method counts beside samples.
#[derive(Debug, Default)]
pub struct WaiterCounts {
    /// Stimuli without an answer.
    pub unanswered: AtomicU64,
    /// Answers to no stimulus.
    pub stray: AtomicU64,
}

impl WaiterCounts {
    pub fn count_unanswered(&self) {
        self.unanswered.fetch_add(1, Relaxed);
    }

    pub fn count_stray(&self) {
        self.stray.fetch_add(1, Relaxed);
    }
}
