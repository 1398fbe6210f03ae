//! The registers of a PCI device, mapped from its file in sysfs.

use std::fs::OpenOptions;
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::ptr::NonNull;

/// Memory of a device. Registers are read and written as words of 32 bits, by any thread.
#[derive(Debug)]
pub struct PciWindow {
    memory: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the mapping belongs to this value until it is dropped; what is behind it is a device, to which the bus carries
// single words from any CPU.
unsafe impl Send for PciWindow {}
// SAFETY: as above: no access through a shared reference changes memory of Rust.
unsafe impl Sync for PciWindow {}

impl PciWindow {
    /// Maps the start of a file such as `resource0`.
    ///
    /// # Errors
    /// Errors of open(2) and mmap(2): EINVAL of a resource that is no memory.
    pub fn map(resource: &Path, bytes: usize) -> io::Result<Self> {
        let file = OpenOptions::new().read(true).write(true).open(resource)?;
        if file.metadata()?.len() < bytes as u64 {
            return Err(io::Error::from_raw_os_error(libc::EINVAL));
        }
        // SAFETY: a new mapping, which no Rust object uses.
        let memory = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                file.as_raw_fd(),
                0,
            )
        };
        match NonNull::new(memory.cast::<u8>()) {
            Some(memory) if memory.as_ptr().cast::<libc::c_void>() != libc::MAP_FAILED => Ok(Self { memory, bytes }),
            _ => Err(io::Error::last_os_error()),
        }
    }

    fn word(&self, offset: usize) -> NonNull<u32> {
        assert!(offset.is_multiple_of(4) && offset + 4 <= self.bytes, "register {offset:#x} is outside");
        // SAFETY: inside the mapping and aligned, as just checked.
        unsafe { self.memory.add(offset).cast() }
    }

    #[inline]
    pub fn read(&self, offset: usize) -> u32 {
        // SAFETY: `word` is inside the mapping and aligned.
        unsafe { self.word(offset).read_volatile() }
    }

    #[inline]
    pub fn write(&self, offset: usize, value: u32) {
        // SAFETY: `word` is inside the mapping and aligned.
        unsafe { self.word(offset).write_volatile(value) }
    }
}

impl Drop for PciWindow {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and nothing refers to it any more.
        unsafe { libc::munmap(self.memory.as_ptr().cast(), self.bytes) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_is_written_through_to_its_file_and_ends_where_it_does() {
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(4096).unwrap();
        assert!(PciWindow::map(file.path(), 8192).is_err());
        let window = PciWindow::map(file.path(), 4096).unwrap();
        window.write(0x60, 7);
        assert_eq!((window.read(0x60), window.read(0x64)), (7, 0));
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| window.read(4096))).is_err());
        assert_eq!(std::fs::read(file.path()).unwrap()[0x60], 7);
    }
}
