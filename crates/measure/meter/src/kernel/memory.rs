//! Memory that never faults while measuring.

use rustix::io::Errno;
use rustix::mm::{
    Advice, MapFlags, MlockAllFlags, MlockFlags, ProtFlags, madvise, mlock_with, mlockall, mmap_anonymous, munlock,
    munlockall, munmap,
};
use std::io;
use std::ops::Range;
use std::sync::atomic::AtomicU64;

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
/// Errors of [`lock_all`].
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

const PAGE_BYTES: usize = 4096;

/// The whole pages inside of a range of addresses.
fn pages_inside(range: Range<usize>) -> Option<Range<usize>> {
    let (start, end) = (range.start.next_multiple_of(PAGE_BYTES), range.end / PAGE_BYTES * PAGE_BYTES);
    (start < end).then_some(start..end)
}

/// Gives back the whole pages of counters that are all zero; the kernel locks each again when a counter in it changes.
///
/// Nothing happens on kernels before 4.4, and without the right to lock memory.
pub fn release_until_counted(counters: &[AtomicU64]) {
    let start = counters.as_ptr() as usize;
    let Some(pages) = pages_inside(start..start + size_of_val(counters)) else { return };
    let (place, bytes) = (pages.start as *mut std::ffi::c_void, pages.len());
    // SAFETY: the pages hold nothing but these counters, in private anonymous memory: the next access finds zeros there, which
    // is what the counters are. Locking changes no contents.
    unsafe {
        if munlock(place, bytes).is_ok() {
            let _ = madvise(place, bytes, Advice::LinuxDontNeed);
            let _ = mlock_with(place, bytes, MlockFlags::ONFAULT);
        }
    }
}

/// Gives back the pages of the unwind tables, which only a panic reads; the kernel reads them from the file again then.
pub fn release_unwind_tables() {
    if let Some(pages) = unwind_tables().and_then(pages_inside) {
        let (place, bytes) = (pages.start as *mut std::ffi::c_void, pages.len());
        // SAFETY: the segment is mapped from the file and read-only, so every page has the same contents after it was dropped.
        unsafe {
            if munlock(place, bytes).is_ok() {
                let _ = madvise(place, bytes, Advice::LinuxDontNeed);
            }
        }
    }
}

/// From the header of this program's unwind tables to the end of the read-only segment that contains them.
fn unwind_tables() -> Option<Range<usize>> {
    let mut found = None;
    // SAFETY: the callback has the signature that the C library expects, and `found` outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(first_object), (&raw mut found).cast()) };
    found
}

/// Stores the range of [`unwind_tables`] for the first object, which is the program itself, and ends the iteration.
unsafe extern "C" fn first_object(
    object: *mut libc::dl_phdr_info,
    _: libc::size_t,
    found: *mut std::ffi::c_void,
) -> libc::c_int {
    // SAFETY: the C library passes a valid object with `dlpi_phnum` headers, and the pointer that its caller passed.
    let (object, found) = unsafe { (&*object, &mut *found.cast::<Option<Range<usize>>>()) };
    // SAFETY: as above.
    let headers = unsafe { std::slice::from_raw_parts(object.dlpi_phdr, usize::from(object.dlpi_phnum)) };
    let address = |offset: usize| object.dlpi_addr as usize + offset;
    let table = headers.iter().find(|header| header.p_type == libc::PT_GNU_EH_FRAME);
    let segment = table.and_then(|table| {
        headers.iter().find(|segment| {
            let inside = segment.p_vaddr <= table.p_vaddr && table.p_vaddr < segment.p_vaddr + segment.p_memsz;
            segment.p_type == libc::PT_LOAD && segment.p_flags & (libc::PF_W | libc::PF_X) == 0 && inside
        })
    });
    *found = table
        .zip(segment)
        .map(|(table, segment)| address(table.p_vaddr as usize)..address((segment.p_vaddr + segment.p_memsz) as usize));
    1
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering::Relaxed;

    #[test]
    fn released_counters_are_zero_and_count_on() {
        let counters: Vec<AtomicU64> = (0..4096).map(|_| AtomicU64::new(0)).collect();
        release_until_counted(&counters);
        assert!(counters.iter().all(|counter| counter.load(Relaxed) == 0));
        counters[2000].store(7, Relaxed);
        assert_eq!((counters[1999].load(Relaxed), counters[2000].load(Relaxed)), (0, 7));
        // Shorter than a page.
        release_until_counted(&counters[..3]);
        assert_eq!(counters[2000].load(Relaxed), 7);
    }

    #[test]
    fn a_panic_unwinds_after_its_tables_were_released() {
        let tables = unwind_tables().expect("this program has unwind tables");
        assert!(tables.len() > PAGE_BYTES, "{tables:?}");
        release_unwind_tables();
        let caught = std::panic::catch_unwind(|| std::hint::black_box(None::<u8>).expect("a panic of this test"));
        assert!(caught.is_err());
    }
}
