//! Clock reads and absolute sleeps in plain nanoseconds.

use rustix::thread::{ClockId, clock_nanosleep_absolute};
use rustix::time::Timespec;

/// CLOCK_MONOTONIC in ns, read without a system call.
#[inline]
pub fn monotonic_ns() -> i64 {
    nanoseconds(rustix::time::clock_gettime(ClockId::Monotonic))
}

/// CLOCK_REALTIME in ns since 1970.
pub fn realtime_ns() -> i64 {
    nanoseconds(rustix::time::clock_gettime(ClockId::Realtime))
}

/// Sets CLOCK_REALTIME.
///
/// # Errors
/// If this process lacks the privilege.
pub fn set_realtime_ns(now_ns: i64) -> rustix::io::Result<()> {
    rustix::time::clock_settime(ClockId::Realtime, timespec(now_ns))
}

/// A clock in ns, read without a system call if the machine supports that.
#[inline]
pub fn now_ns(clock: ClockId) -> i64 {
    nanoseconds(rustix::time::clock_gettime(clock))
}

/// CLOCK_BOOTTIME in ns: continues while the machine is suspended.
pub fn boottime_ns() -> i64 {
    nanoseconds(rustix::time::clock_gettime(ClockId::Boottime))
}

/// Sleeps until an instant of CLOCK_MONOTONIC: one system call unless a signal interrupts it.
#[inline]
pub fn sleep_until_ns(instant_ns: i64) {
    while clock_nanosleep_absolute(ClockId::Monotonic, &timespec(instant_ns)) == Err(rustix::io::Errno::INTR) {}
}

/// A duration or an instant in the kernel's format.
#[inline]
pub fn timespec(ns: i64) -> Timespec {
    Timespec { tv_sec: ns.div_euclid(1_000_000_000), tv_nsec: ns.rem_euclid(1_000_000_000) }
}

#[inline]
fn nanoseconds(time: Timespec) -> i64 {
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}
