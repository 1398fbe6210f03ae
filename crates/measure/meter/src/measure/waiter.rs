//! The event that a measuring thread waits for in each cycle: the part of a method that runs in its loop.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// How a wait ended. Instants are CLOCK_MONOTONIC in ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrival {
    /// The requested instant has passed.
    Due { seen_ns: i64 },
    /// The answer to a stimulus given at `given_ns`; `skipped` planned ones were left out before it.
    Stimulus { given_ns: i64, seen_ns: i64, skipped: u64 },
    /// The same where another thread keeps the schedule and ends it: this thread goes on until [`Arrival::Ended`]. `counted`: the
    /// period of the stimulus counts; one that was due while settling does not, however late it is.
    Answer { given_ns: i64, seen_ns: i64, skipped: u64, counted: bool },
    /// The answer to a stimulus that this thread requested when the schedule wanted it, given at `given_ns`.
    Requested { given_ns: i64, seen_ns: i64 },
    /// The thread did not sleep: it was busy from one read of the clock to the next.
    Busy { from_ns: i64, until_ns: i64 },
    /// The thread was busy until this instant, and nothing happened that is a sample.
    Undisturbed { until_ns: i64 },
    /// The event came, but the kernel's time stamp at which its sample starts is lost; `skipped` as in
    /// [`Arrival::Stimulus`].
    Unstamped { seen_ns: i64, skipped: u64 },
    /// Nothing came in the time that the method allows.
    NoSignal,
    /// There will be no further stimulus; `skipped` planned ones were left out after the last one.
    Ended { skipped: u64 },
    /// Nothing can arrive any more, although more should: a line was closed, or an object of the kernel removed.
    Gone,
}

/// Waits in a measuring thread. Except in [`Waiter::prepare`], it must not allocate, lock, format or open files.
pub trait Waiter: Send {
    /// Called once in the measuring thread, after its scheduling was set and before the first wait.
    ///
    /// # Errors
    /// The kernel rejected the wait.
    fn prepare(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Waits once. `due_ns` is when the thread's schedule wants the next sample; a method with its own pace ignores it.
    fn wait(&mut self, due_ns: i64) -> Arrival;

    /// A spike was just marked in the trace; what the mark itself cost is in no sample.
    fn marked(&mut self) {}
}

/// Counts in addition to samples, the same for all methods; [`LossCounter`](super::loss_counter::LossCounter) counts what only one has.
#[derive(Debug, Default)]
pub struct WaiterCounts {
    /// Stimuli without an answer.
    pub unanswered: AtomicU64,
    /// Answers without a stimulus.
    pub stray: AtomicU64,
    /// Interrupts whose time stamp was lost.
    pub unstamped: AtomicU64,
}

impl WaiterCounts {
    pub fn count_unanswered(&self) {
        self.unanswered.fetch_add(1, Relaxed);
    }

    pub fn count_stray(&self) {
        self.stray.fetch_add(1, Relaxed);
    }

    pub fn count_unstamped(&self) {
        self.unstamped.fetch_add(1, Relaxed);
    }
}
