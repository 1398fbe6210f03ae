//! Private anonymous memory for loads.

use rustix::mm::{Advice, MapFlags, MprotectFlags, ProtFlags, madvise, mmap_anonymous, mprotect, munmap};
use std::io;
use std::ptr::NonNull;

/// New zeroed memory, unmapped when dropped.
#[derive(Debug)]
pub struct Mapping {
    start: NonNull<u8>,
    bytes: usize,
}

impl Mapping {
    /// # Errors
    /// Errors of mmap(2).
    pub fn new(bytes: usize) -> io::Result<Self> {
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new private mapping at an address of the kernel's choice.
        let start = unsafe { mmap_anonymous(std::ptr::null_mut(), bytes, protection, MapFlags::PRIVATE)? };
        let start = NonNull::new(start.cast()).ok_or_else(|| io::Error::other("the kernel mapped address 0"))?;
        Ok(Self { start, bytes })
    }

    /// Requests huge pages, or none. A kernel without huge pages rejects it, which is harmless.
    pub fn prefer_huge_pages(&self, huge: bool) {
        let advice = if huge { Advice::LinuxHugepage } else { Advice::LinuxNoHugepage };
        // SAFETY: the advice concerns this mapping only and does not change its contents.
        let _ = unsafe { madvise(self.start.as_ptr().cast(), self.bytes, advice) };
    }

    /// Bytes from the start to the first multiple of `alignment`.
    pub fn offset_of_alignment(&self, alignment: usize) -> usize {
        self.start.as_ptr().align_offset(alignment)
    }

    /// Writes a byte, which maps its page.
    pub fn touch(&mut self, offset: usize) {
        assert!(offset < self.bytes, "{offset} is outside of {} bytes", self.bytes);
        // SAFETY: the offset lies within the mapping, which is writable whenever a method of it is called; volatile keeps
        // the write.
        unsafe { self.start.as_ptr().add(offset).write_volatile(1) };
    }

    /// Removes and restores the permission to write.
    ///
    /// # Errors
    /// Errors of mprotect(2).
    pub fn toggle_write_permission(&mut self) -> io::Result<()> {
        let start = self.start.as_ptr().cast();
        // SAFETY: no reference into the mapping exists, and nothing writes to it before it is writable again.
        unsafe { mprotect(start, self.bytes, MprotectFlags::READ)? };
        // SAFETY: as above.
        unsafe { mprotect(start, self.bytes, MprotectFlags::READ | MprotectFlags::WRITE)? };
        Ok(())
    }

    /// The memory, aligned to a page.
    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        // SAFETY: mapped with this size and writable; zeros are bytes; the borrow keeps every other use away.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.bytes) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: mapped by `new` with this size, and no reference into it outlives `self`.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_stays_writable_after_the_permission_was_toggled() {
        let mut page = Mapping::new(rustix::param::page_size()).expect("a page");
        for _ in 0..3 {
            page.touch(0);
            page.toggle_write_permission().expect("permissions change");
        }
        assert_eq!(page.as_mut_slice()[..2], [1, 0]);
    }

    #[test]
    #[should_panic(expected = "outside")]
    fn nothing_outside_is_touched() {
        Mapping::new(4096).expect("a page").touch(4096);
    }
}
