//! A parallel port through ppdev: data and strobe out, the interrupt of nACK in.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;

/// The strobe bit of the control register.
const STROBE: u8 = 1;

/// The request of type `p` in the encoding of most architectures.
const fn request(direction: u32, number: u32, size: u32) -> u32 {
    direction << 30 | size << 16 | (b'p' as u32) << 8 | number
}

const CLAIM: u32 = request(0, 0x8b, 0);
const EXCLUSIVE: u32 = request(0, 0x8f, 0);
const READ_CONTROL: u32 = request(2, 0x83, 1);
const WRITE_CONTROL: u32 = request(1, 0x84, 1);
const WRITE_DATA: u32 = request(1, 0x86, 1);
const CLEAR_INTERRUPTS: u32 = request(2, 0x93, 4);

/// A claimed port. The kernel releases it with the process.
#[derive(Debug)]
pub struct ParallelPort {
    port: File,
    /// The control register while the strobe is not given.
    control: u8,
}

fn checked(answer: libc::c_int) -> io::Result<()> {
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

impl ParallelPort {
    /// # Errors
    /// Errors of open(2) and of the requests; ENXIO if another driver has the port.
    pub fn claim(path: &Path) -> io::Result<Self> {
        let port = OpenOptions::new().read(true).write(true).open(path)?;
        let mut control = 0u8;
        // SAFETY: requests without an argument.
        checked(unsafe { libc::ioctl(port.as_raw_fd(), EXCLUSIVE as _) })?;
        // SAFETY: as above.
        checked(unsafe { libc::ioctl(port.as_raw_fd(), CLAIM as _) })?;
        // SAFETY: the request writes one byte, which is live.
        checked(unsafe { libc::ioctl(port.as_raw_fd(), READ_CONTROL as _, &raw mut control) })?;
        Ok(Self { port, control: control & !STROBE })
    }

    /// Puts a byte on the data lines and pulses the strobe.
    ///
    /// # Errors
    /// Errors of the requests.
    #[inline]
    pub fn send(&self, byte: u8) -> io::Result<()> {
        let write = |number: u32, value: u8| {
            // SAFETY: the request reads one byte, which is live.
            checked(unsafe { libc::ioctl(self.port.as_raw_fd(), number as _, &raw const value) })
        };
        write(WRITE_DATA, byte)?;
        write(WRITE_CONTROL, self.control | STROBE)?;
        write(WRITE_CONTROL, self.control)
    }

    /// Number of interrupts since the last call.
    ///
    /// # Errors
    /// Errors of the request.
    #[inline]
    pub fn take_interrupts(&self) -> io::Result<u32> {
        let mut count: libc::c_int = 0;
        // SAFETY: the request writes one `int`, which is live.
        checked(unsafe { libc::ioctl(self.port.as_raw_fd(), CLEAR_INTERRUPTS as _, &raw mut count) })?;
        Ok(count.max(0) as u32)
    }

    pub fn file(&self) -> &File {
        &self.port
    }
}
