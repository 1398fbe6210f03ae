//! Memory that never faults while measuring.

use rustix::io::Errno;
use rustix::mm::{MapFlags, MlockAllFlags, ProtFlags, mlockall, mmap_anonymous, munlockall, munmap};
use std::io;

/// Memory that a run maps after locking: independent of the measuring threads, and per measuring thread.
const ROOM_BYTES: usize = 16 << 20;
const ROOM_BYTES_PER_CPU: usize = 8 << 20;
const ALL: MlockAllFlags = MlockAllFlags::CURRENT.union(MlockAllFlags::FUTURE);

/// Locks all current and future memory.
///
/// # Errors
/// EPERM or ENOMEM without CAP_IPC_LOCK, or if RLIMIT_MEMLOCK is too small for future memory: nothing is locked then,
/// because a later allocation would fail, which ends the process.
pub fn lock_all() -> io::Result<()> {
    mlockall(ALL)?;
    check_room()
}

/// Whether this process may lock all its memory. Touches no page of it, and unlocks all of it again.
///
/// # Errors
/// Those of [`lock_all`].
pub fn try_to_lock_all() -> io::Result<()> {
    match mlockall(ALL | MlockAllFlags::ONFAULT) {
        // Kernels before 4.4.
        Err(Errno::INVAL) => mlockall(ALL)?,
        tried => tried?,
    }
    check_room()?;
    Ok(munlockall()?)
}

/// Unlocks all memory if what a run maps later could not be locked.
fn check_room() -> io::Result<()> {
    let cpus = rustix::thread::sched_getaffinity(None).map_or(1, |set| set.count() as usize);
    if let Err(error) = try_to_map(ROOM_BYTES + ROOM_BYTES_PER_CPU * cpus) {
        munlockall()?;
        return Err(error);
    }
    Ok(())
}

/// Whether this much more memory can be mapped and locked. Inaccessible memory counts, and costs nothing.
fn try_to_map(bytes: usize) -> io::Result<()> {
    // SAFETY: the kernel chooses the address, no other code gets it, and it is unmapped with the length of the mapping.
    unsafe {
        let place = mmap_anonymous(std::ptr::null_mut(), bytes, ProtFlags::empty(), MapFlags::PRIVATE)?;
        Ok(munmap(place, bytes)?)
    }
}

/// From now on new memory is locked page by page as it is touched. Existing mappings stay locked completely.
///
/// A large mapping that is locked at once is populated in one stretch within the kernel, which does not release the CPU
/// meanwhile without kernel preemption. Kernels before 4.4 do not support this and continue to lock at once.
pub fn lock_new_memory_when_touched() {
    let _ = mlockall(MlockAllFlags::FUTURE | MlockAllFlags::ONFAULT);
}

/// Touches the stack below the caller, so that it is mapped before the loop.
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
