//! Thin doors to the system calls that stop machines.

use std::mem::zeroed;

/// CLOCK_MONOTONIC of this machine, in ns.
pub fn now_ns() -> i64 {
    // SAFETY: a structure of integers, for which zeros are valid.
    let mut now: libc::timespec = unsafe { zeroed() };
    // SAFETY: the kernel writes one `timespec` to a pointer to one.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
    now.tv_sec * 1_000_000_000 + now.tv_nsec
}

/// Sends a signal; a process that is gone needs none.
pub fn signal(process: i32, signal: i32) {
    // SAFETY: sends a signal, touches no memory.
    unsafe { libc::kill(process, signal) };
}
