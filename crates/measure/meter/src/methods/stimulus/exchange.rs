//! The stimulus that is open, shared by the thread that gives it and the one that answers it.

use super::time::Time;
use std::sync::atomic::{
    AtomicBool, AtomicI64, AtomicU64, Ordering::AcqRel, Ordering::Acquire, Ordering::Relaxed, Ordering::Release,
};

/// State of the current stimulus, shared by both threads.
#[derive(Debug, Default)]
pub struct Exchange {
    given_ns: AtomicI64,
    /// Number of counted periods without a stimulus before it.
    skipped: AtomicU64,
    /// Its period is counted: it was not due while settling.
    counted: AtomicBool,
    /// Number of the last stimulus given, from 1.
    given: AtomicU64,
    /// Number of the last one that was answered, or given up.
    answered: AtomicU64,
    /// There will be no further stimulus.
    ended: AtomicBool,
    /// Number of counted periods without a stimulus after the last one.
    skipped_last: AtomicU64,
    /// The measuring thread has ended.
    pub(super) over: AtomicBool,
    /// The stimulus on its way is not counted.
    pub(super) practice: AtomicBool,
}

impl Exchange {
    pub(super) fn is_answered(&self) -> bool {
        self.given.load(Relaxed) == self.answered.load(Acquire)
    }

    /// Gives the stimulus another instant than that of [`Exchange::give`], in the thread that knows better.
    #[inline]
    pub fn given_at(&self, given_ns: i64) {
        self.given_ns.store(given_ns, Relaxed);
    }

    /// Number of the stimulus given last, from 1. An answer that carries its number differs from a late one.
    pub fn number(&self) -> u64 {
        self.given.load(Acquire)
    }

    /// Records the instant; the stimulus itself must follow at once.
    #[inline]
    pub(super) fn give(&self, skipped: u64, counted: bool, time: &impl Time) {
        self.skipped.store(skipped, Relaxed);
        self.counted.store(counted, Relaxed);
        let number = self.given.load(Relaxed) + 1;
        self.given_ns.store(time.now_ns(), Relaxed);
        self.given.store(number, Release);
    }

    /// Closes the open stimulus without a sample, if there is one, and has it counted if its period is. Returns the number of periods left out before it, which its answer would
    /// have reported.
    pub(super) fn give_up(&self, count: impl FnOnce()) -> u64 {
        let number = self.given.load(Acquire);
        let (skipped, counted) = (self.skipped.load(Relaxed), self.counted.load(Relaxed));
        if !self.close(number) {
            return 0;
        }
        if counted {
            count();
        }
        skipped
    }

    /// Closes a stimulus. Only one of the two threads can.
    #[inline]
    pub(super) fn close(&self, number: u64) -> bool {
        number > 0 && self.answered.compare_exchange(number - 1, number, AcqRel, Relaxed).is_ok()
    }

    /// Closes the open stimulus with its answer; `None` if there is none.
    #[inline]
    pub(super) fn answer(&self) -> Option<Answered> {
        let given = self.given.load(Acquire);
        let (given_ns, skipped) = (self.given_ns.load(Relaxed), self.skipped.load(Relaxed));
        let counted = self.counted.load(Relaxed);
        self.close(given).then_some(Answered { given_ns, skipped, counted })
    }

    /// Number of counted periods without a stimulus after the last one; `None`: there may be further stimuli.
    #[inline]
    pub(super) fn ended(&self) -> Option<u64> {
        self.ended.load(Acquire).then(|| self.skipped_last.load(Relaxed))
    }

    /// Ends the waits of the measuring thread, from any thread. What is open stays without an answer.
    pub(super) fn release(&self) {
        self.ended.store(true, Release);
    }

    /// There will be no further stimulus.
    pub(super) fn end(&self, skipped: u64) {
        self.skipped_last.store(skipped, Relaxed);
        self.ended.store(true, Release);
    }
}

/// A stimulus that was answered.
pub struct Answered {
    pub given_ns: i64,
    /// Number of counted periods without a stimulus before it.
    pub skipped: u64,
    /// Whether its period counts.
    pub counted: bool,
}
