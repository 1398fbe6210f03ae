//! Memory of the machine that is a file of the host: a PCI device without registers and interrupts (ivshmem).
//!
//! A write takes effect immediately and without any response, so unlike with a virtio or serial port the host's timing
//! cannot influence the guest. Writing a byte costs the guest as much as copying it.

use protocol::guest::WRITTEN_BYTES;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::PathBuf;
use std::ptr::NonNull;
use std::sync::atomic::{Ordering, fence};
use thiserror::Error;

/// The machine has no such memory, or the kernel could not map it.
#[derive(Debug, Error)]
#[error(
    "failed to map the memory shared with the host at {}: {error}; the emulator needs -device ivshmem-plain and the \
     kernel CONFIG_PCI",
    .device.display()
)]
pub struct SharedMemoryError {
    device: PathBuf,
    error: io::Error,
}

/// The whole memory, written from its start.
#[derive(Debug)]
pub struct SharedMemory(Region);

/// Memory that this process writes and another process reads.
#[derive(Debug)]
struct Region {
    start: NonNull<u8>,
    bytes: usize,
    written: usize,
}

impl SharedMemory {
    /// Maps the memory in this slot of the first PCI bus.
    ///
    /// # Errors
    /// [`SharedMemoryError`] if the machine has none there or the kernel cannot map it.
    pub fn open(slot: u8) -> Result<Self, SharedMemoryError> {
        let device = PathBuf::from(format!("/sys/bus/pci/devices/0000:00:{slot:02x}.0"));
        let failed = |error| SharedMemoryError { device: device.clone(), error };
        fs::write(device.join("enable"), "1").map_err(failed)?;
        let file = File::options().read(true).write(true).open(device.join("resource2")).map_err(failed)?;
        let bytes = file.metadata().map_err(failed)?.len() as usize;
        Self::map(&file, bytes).map_err(failed)
    }

    fn map(file: &File, bytes: usize) -> io::Result<Self> {
        if bytes <= WRITTEN_BYTES {
            return Err(io::Error::new(ErrorKind::InvalidData, format!("{bytes} bytes are too few")));
        }
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at an address of the kernel's choice, no longer than the file.
        let address = unsafe { mmap(std::ptr::null_mut(), bytes, protection, MapFlags::SHARED, file, 0)? };
        let start = NonNull::new(address.cast()).ok_or_else(|| io::Error::other("the kernel mapped address 0"))?;
        Ok(Self(Region { start, bytes, written: 0 }))
    }
}

impl Region {
    /// Makes the written bytes visible to readers of the file.
    fn publish(&self) {
        fence(Ordering::Release);
        let number = (self.written as u64).to_le_bytes();
        // SAFETY: the last bytes of the memory, which `write` does not touch; volatile: another process reads them.
        unsafe {
            self.start.add(self.bytes - WRITTEN_BYTES).cast::<[u8; WRITTEN_BYTES]>().as_ptr().write_volatile(number);
        }
    }
}

impl Region {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = bytes.len().min(self.bytes - WRITTEN_BYTES - self.written);
        if count == 0 && !bytes.is_empty() {
            return Err(io::Error::new(ErrorKind::StorageFull, "the memory shared with the host is full"));
        }
        // SAFETY: `count` bytes from `written` on lie within the memory, which no reference leads into.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.start.add(self.written).as_ptr(), count) };
        self.written += count;
        self.publish();
        Ok(count)
    }
}

impl Write for SharedMemory {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for SharedMemory {
    fn drop(&mut self) {
        // SAFETY: the mapping was made with this size, and no reference into it exists.
        let _ = unsafe { munmap(self.0.start.as_ptr().cast(), self.0.bytes) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As Miri can run it, which maps no file.
    #[test]
    fn no_byte_outside_of_the_memory_is_touched() {
        let mut memory = [7; 34];
        {
            let inside = NonNull::from(&mut memory[1..33]);
            let mut region = Region { start: inside.cast(), bytes: inside.len(), written: 0 };
            assert_eq!(region.write(b"first").unwrap(), 5);
            assert_eq!(region.write(&[b'x'; 40]).unwrap(), 19);
            assert_eq!(region.write(b"y").unwrap_err().kind(), ErrorKind::StorageFull);
        }
        assert_eq!((memory[0], &memory[1..7], memory[33]), (7, &b"firstx"[..], 7));
        assert_eq!(memory[25..33], 24_u64.to_le_bytes());
    }

    #[test]
    #[cfg_attr(miri, ignore = "maps a file")]
    fn the_file_holds_the_bytes_and_at_its_end_their_number() {
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(32).unwrap();
        let mut memory = SharedMemory::map(file.as_file(), 32).unwrap();
        memory.write_all(b"first").unwrap();
        memory.write_all(b" second").unwrap();
        let seen = fs::read(file.path()).unwrap();
        assert_eq!((&seen[..12], &seen[24..]), (&b"first second"[..], &12_u64.to_le_bytes()[..]));
        let error = memory.write_all(&[b'x'; 13]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::StorageFull);
        assert_eq!(&fs::read(file.path()).unwrap()[12..], [&[b'x'; 12][..], &24_u64.to_le_bytes()].concat());
    }
}
