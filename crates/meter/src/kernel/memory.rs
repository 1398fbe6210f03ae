//! Memory that never faults while measuring.

use rustix::mm::{MlockAllFlags, mlockall};
use std::io;

/// Locks everything mapped now and later.
///
/// # Errors
/// EPERM or ENOMEM without CAP_IPC_LOCK or with a small RLIMIT_MEMLOCK.
pub fn lock_all() -> io::Result<()> {
    Ok(mlockall(MlockAllFlags::CURRENT | MlockAllFlags::FUTURE)?)
}

/// From here on new memory is locked page by page as it is touched. What is mapped already stays locked whole.
///
/// A large mapping that is locked at once is filled in one stretch within the kernel, which does not let go of the CPU
/// meanwhile if it has no preemption. Kernels before 4.4 cannot do this and go on locking at once.
pub fn lock_new_memory_when_touched() {
    let _ = mlockall(MlockAllFlags::FUTURE | MlockAllFlags::ONFAULT);
}

/// Touches the stack below the caller, so that the loop finds it mapped.
#[inline(never)]
pub fn prefault_stack() {
    let mut pages = [0u8; 32 << 10];
    for at in (0..pages.len()).step_by(4096) {
        pages[at] = 1;
    }
    std::hint::black_box(&pages);
}

/// Locked memory of this process in kB, from /proc/self/status.
pub fn locked_kb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmLck:"));
    line.and_then(|text| text.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}
