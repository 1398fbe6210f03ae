//! Timer wake-up on a given clock: sleeps until an absolute instant, then reads the clock.

use crate::kernel::clock::{now_ns, timespec};
use rustix::io::Errno;
use rustix::thread::{ClockId, clock_nanosleep_absolute};

/// Sleeps until `due_ns` of the clock and returns the instant that the thread read from it: one system call.
///
/// # Errors
/// Errors of clock_nanosleep(2), except EINTR: a handled signal does not end the sleep.
#[inline]
pub fn wake_at(clock: ClockId, due_ns: i64) -> Result<i64, Errno> {
    let until = timespec(due_ns);
    loop {
        match clock_nanosleep_absolute(clock, &until) {
            Ok(()) => return Ok(now_ns(clock)),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    }
}
