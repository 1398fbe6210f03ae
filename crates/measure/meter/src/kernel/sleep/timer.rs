//! Timer wake-up: sleeps until an absolute instant of CLOCK_MONOTONIC, then reads the clock.

use crate::kernel::clock::{monotonic_ns, sleep_until_ns};

/// Sleeps until `due_ns` and returns the instant at which the thread read the clock: one system call.
#[inline]
pub fn wake_at(due_ns: i64) -> i64 {
    sleep_until_ns(due_ns);
    monotonic_ns()
}
