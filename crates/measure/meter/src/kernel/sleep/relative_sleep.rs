//! Relative sleep: each starts when the previous one has ended, so the time between two wake-ups grows with every
//! latency.

use crate::kernel::clock::{now_ns, timespec};
use rustix::io::Errno;
use rustix::thread::{ClockId, NanosleepRelativeResult, clock_nanosleep_relative};

/// Reads the clock, sleeps for `interval_ns`, reads it again. Returns when the wake-up was due and when it was seen.
///
/// # Errors
/// Errors of clock_nanosleep(2), except EINTR: the rest of the sleep follows.
#[inline]
pub fn wake_after(clock: ClockId, interval_ns: i64) -> Result<(i64, i64), Errno> {
    let due_ns = now_ns(clock).saturating_add(interval_ns);
    let mut left = timespec(interval_ns);
    loop {
        match clock_nanosleep_relative(clock, &left) {
            NanosleepRelativeResult::Ok => return Ok((due_ns, now_ns(clock))),
            NanosleepRelativeResult::Interrupted(rest) => left = rest,
            NanosleepRelativeResult::Err(error) => return Err(error),
        }
    }
}
