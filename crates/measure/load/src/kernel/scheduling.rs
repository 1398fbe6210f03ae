//! The scheduling policy of the calling thread.

use std::io;

/// Sets policy SCHED_OTHER. The C library of a static build does not implement the function for it.
///
/// # Errors
/// Errors of sched_setscheduler(2).
pub fn set_normal_policy() -> io::Result<()> {
    // SAFETY: a structure of integers, for which zeros are valid; which fields it has differs between C libraries.
    let parameters: libc::sched_param = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel reads one `sched_param` from a pointer to one.
    match unsafe { libc::syscall(libc::SYS_sched_setscheduler, 0, libc::SCHED_OTHER, &raw const parameters) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
