//! Progress counters in memory shared by the meter, the supervisor and its workers.
//!
//! Each counter has its own cache line, so that counting adds no cache traffic between CPUs.

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};

/// Workers beyond this many share counters.
const SLOTS: usize = 511;

#[repr(C, align(64))]
struct Slot(AtomicU64);

#[repr(C, align(64))]
struct Table {
    /// Process group of a user's command, 0 until there is one.
    group: AtomicI32,
    /// CPU time of a load that rarely reports its progress.
    heartbeat: AtomicU64,
    slots: [Slot; SLOTS],
}

/// The mapped table.
pub struct Counters {
    table: NonNull<Table>,
}

// SAFETY: the table holds atomics only, and the mapping stays where it is until the value is dropped.
unsafe impl Send for Counters {}
// SAFETY: as above; every access through a shared reference is an atomic one.
unsafe impl Sync for Counters {}

impl Counters {
    /// A new table of zeros and the file from which others map it.
    pub fn create() -> io::Result<(OwnedFd, Self)> {
        let file = memfd_create(c"load-progress", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
        ftruncate(&file, size_of::<Table>() as u64)?;
        // Without the seals a process that shrinks the file would kill the others with SIGBUS.
        fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
        let counters = Self::open(&file)?;
        Ok((file, counters))
    }

    /// Maps the table that another process created.
    pub fn open(file: impl AsFd) -> io::Result<Self> {
        let size = rustix::fs::fstat(&file)?.st_size;
        if size != size_of::<Table>() as i64 {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "this is not a progress file of this meter"));
        }
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at an address of the kernel's choice; the file has the size of the table.
        let address =
            unsafe { mmap(std::ptr::null_mut(), size_of::<Table>(), protection, MapFlags::SHARED, file.as_fd(), 0)? };
        let table = NonNull::new(address.cast()).ok_or_else(|| io::Error::other("the kernel mapped address 0"))?;
        Ok(Self { table })
    }

    fn table(&self) -> &Table {
        // SAFETY: mapped from `open` until `drop`, page-aligned, as large as a table, and all zeros is a valid table.
        unsafe { self.table.as_ref() }
    }

    /// The counter of the worker with this number.
    pub fn worker(&self, number: usize) -> &AtomicU64 {
        &self.table().slots[number % SLOTS].0
    }

    /// Progress of all workers together.
    pub fn total(&self) -> u64 {
        self.table().slots.iter().fold(0, |sum: u64, slot| sum.wrapping_add(slot.0.load(Ordering::Relaxed)))
    }

    pub fn group(&self) -> &AtomicI32 {
        &self.table().group
    }

    /// Changes as long as the load is alive, if its progress alone does not show it.
    pub fn heartbeat(&self) -> &AtomicU64 {
        &self.table().heartbeat
    }
}

impl Drop for Counters {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `open` with this size, and no reference into it outlives `self`.
        let _ = unsafe { munmap(self.table.as_ptr().cast(), size_of::<Table>()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_mappings_see_a_count() {
        let (file, ours) = Counters::create().expect("memory");
        let theirs = Counters::open(&file).expect("a second mapping");
        theirs.worker(0).fetch_add(5, Ordering::Relaxed);
        theirs.worker(SLOTS - 1).fetch_add(7, Ordering::Relaxed);
        theirs.worker(SLOTS).fetch_add(1, Ordering::Relaxed);
        assert_eq!(ours.total(), 13);
        assert_eq!(ours.worker(0).load(Ordering::Relaxed), 6);
    }

    #[test]
    fn a_file_of_another_size_is_refused() {
        let file = memfd_create(c"other", MemfdFlags::CLOEXEC).expect("memory");
        assert!(Counters::open(&file).is_err());
    }
}
