//! Timer wake-up: sleep until an absolute instant of CLOCK_MONOTONIC, then look at the clock.

use crate::kernel::clock::{monotonic_ns, sleep_until_ns};

/// Sleeps until `due_ns` and answers the instant the thread saw the clock: one system call.
#[inline]
pub fn wake_at(due_ns: i64) -> i64 {
    sleep_until_ns(due_ns);
    monotonic_ns()
}
