//! The memory that is shared with the meter, mapped into the program.
//!
//! It is mapped once, as a whole and without rights, so that locking all memory does not fill it; the header gets its rights
//! at once, a ring when a thread takes it. After that no file is open and no path is needed.

use call_ring::header::{Injection, MAGIC, RULE_BYTES, RULES_MAX, Reason, Refusal, UNPATCHED_BYTES, UNPATCHED_MAX, at};
use call_ring::{MEMORY_BYTES, RECORDS_OFFSET};
use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::ptr;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU32, AtomicU64};

/// The mapped memory; it stays mapped until the program ends.
#[derive(Debug, Clone, Copy)]
pub struct Memory {
    start: *mut u8,
}

impl Memory {
    /// Maps it; `None` if it is not there, or is of another version.
    pub fn open(path: &Path) -> Option<Self> {
        let file = File::options().read(true).write(true).open(path).ok()?;
        if file.metadata().ok()?.len() != MEMORY_BYTES as u64 {
            return None;
        }
        // SAFETY: a new mapping at an address of the kernel's choice, of a file that is that long and cannot be cut (the host
        // seals it).
        let start = unsafe {
            libc::mmap(ptr::null_mut(), MEMORY_BYTES, libc::PROT_NONE, libc::MAP_SHARED, file.as_raw_fd(), 0)
        };
        if start == libc::MAP_FAILED {
            return None;
        }
        // SAFETY: the start of the mapping just made.
        let changed = unsafe { libc::mprotect(start, RECORDS_OFFSET, libc::PROT_READ | libc::PROT_WRITE) };
        let memory = Self { start: start.cast() };
        (changed == 0 && memory.word(at::MAGIC).load(Relaxed) == MAGIC).then_some(memory)
    }

    /// Address of a place in it.
    pub fn address(self, offset: usize) -> usize {
        self.start as usize + offset
    }

    /// A word before the records.
    pub fn word(self, offset: usize) -> &'static AtomicU64 {
        assert!(offset + 8 <= RECORDS_OFFSET && offset.is_multiple_of(8));
        // SAFETY: aligned, within the part of the mapping that can be written, which is never unmapped. Other processes
        // change it by atomic operations only.
        unsafe { &*self.start.add(offset).cast() }
    }

    /// Half a word before the records.
    pub fn half(self, offset: usize) -> &'static AtomicU32 {
        assert!(offset + 4 <= RECORDS_OFFSET && offset.is_multiple_of(4));
        // SAFETY: as for `word`.
        unsafe { &*self.start.add(offset).cast() }
    }

    pub fn count_process(self) {
        self.word(at::PROCESSES).fetch_add(1, Relaxed);
    }

    /// Notes that nothing of this process is patched.
    pub fn refuse(self, why: Refusal) {
        self.half(at::REFUSAL).store(why as u32, Relaxed);
    }

    /// Lists an instruction that keeps its system call.
    pub fn list_unpatched(self, address: u64, reason: Reason) {
        let index = self.word(at::NOT_PATCHED).fetch_add(1, Relaxed) as usize;
        if index < UNPATCHED_MAX {
            let entry = at::UNPATCHED + index * UNPATCHED_BYTES;
            self.half(entry + 8).store(reason as u32, Relaxed);
            self.half(entry + 12).store(std::process::id(), Relaxed);
            self.word(entry).store(address, Relaxed);
        }
    }

    /// The rules of injection.
    pub fn rules(self) -> Vec<Injection> {
        let count = (self.half(at::RULES).load(Relaxed) as usize).min(RULES_MAX);
        let rule = |index: usize| {
            let mut bytes = [0; RULE_BYTES];
            for (word, place) in bytes.chunks_mut(8).enumerate() {
                let value = self.word(at::RULE + index * RULE_BYTES + word * 8).load(Relaxed);
                place.copy_from_slice(&value.to_le_bytes());
            }
            Injection::read(&bytes)
        };
        (0..count).filter_map(rule).collect()
    }
}
