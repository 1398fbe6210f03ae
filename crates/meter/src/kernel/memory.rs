//! Memory that never faults while measuring.

use rustix::mm::{MapFlags, MlockAllFlags, ProtFlags, mlockall, mmap_anonymous, munlockall, munmap};
use std::io;

/// What a run maps after its memory is locked, apart from what every measuring thread needs, and that.
const ROOM_BYTES: usize = 16 << 20;
const ROOM_BYTES_PER_CPU: usize = 8 << 20;

/// Locks everything mapped now and later.
///
/// # Errors
/// EPERM or ENOMEM without CAP_IPC_LOCK, or with an RLIMIT_MEMLOCK that is too small for what is still to come: nothing is
/// locked then, because a later allocation would fail, which ends the process.
pub fn lock_all() -> io::Result<()> {
    mlockall(MlockAllFlags::CURRENT | MlockAllFlags::FUTURE)?;
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    if let Err(error) = try_to_map(ROOM_BYTES + ROOM_BYTES_PER_CPU * cpus) {
        munlockall()?;
        return Err(error);
    }
    Ok(())
}

/// Whether so much more may be mapped while it counts as locked. Memory that nobody may touch counts, and costs nothing.
fn try_to_map(bytes: usize) -> io::Result<()> {
    // SAFETY: the kernel chooses the address, nobody learns it, and it is unmapped with the length it was mapped with.
    unsafe {
        let place = mmap_anonymous(std::ptr::null_mut(), bytes, ProtFlags::empty(), MapFlags::PRIVATE)?;
        Ok(munmap(place, bytes)?)
    }
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
