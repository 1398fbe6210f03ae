//! Timer wake-up on a clock of choice: sleep until an absolute instant of it, then look at it.

use crate::kernel::clock::{now_ns, timespec};
use rustix::io::Errno;
use rustix::thread::{ClockId, clock_nanosleep_absolute};

/// Sleeps until `due_ns` of the clock and answers the instant the thread saw on it: one system call.
///
/// # Errors
/// Those of clock_nanosleep(2), EINTR excepted: a handled signal does not end the sleep.
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
