//! Delays that a test plants in a stage.

use rustix::time::{ClockId, clock_gettime};

/// Length of each delay: far above what a stage with real-time priority waits by chance.
pub const PLANTED_NS: i64 = 4_000_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delay {
    /// The stage works for longer.
    OwnWork,
    /// A thread with a higher real-time priority has its CPU.
    Preempted,
    /// The stage sleeps.
    Sleep,
    /// The stage waits for a lock whose holder runs.
    LockOfRunning,
    /// The holder of the lock sleeps.
    LockOfSleeping,
    /// A thread of middle priority preempts the holder of the lock.
    LockOfPreempted,
}

impl Delay {
    pub const ALL: [Self; 6] =
        [Self::OwnWork, Self::Preempted, Self::Sleep, Self::LockOfRunning, Self::LockOfSleeping, Self::LockOfPreempted];
}

/// CLOCK_MONOTONIC, in ns.
pub fn now_ns() -> i64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec * 1_000_000_000 + now.tv_nsec
}

/// Keeps the CPU for a time.
pub fn work_for(ns: i64) {
    let until_ns = now_ns() + ns;
    while now_ns() < until_ns {
        std::hint::spin_loop();
    }
}
