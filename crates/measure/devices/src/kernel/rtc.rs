//! The periodic interrupt of a real-time clock.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

const PIE_ON: libc::c_ulong = 0x7005;
const PIE_OFF: libc::c_ulong = 0x7006;
/// As the kernel's _IOR and _IOW make them of the type 'p', the number and the width of a `long`.
const IRQP_READ: libc::c_ulong = request_of_long(2, 0x0b);
const IRQP_SET: libc::c_ulong = request_of_long(1, 0x0c);

const fn request_of_long(direction: libc::c_ulong, number: libc::c_ulong) -> libc::c_ulong {
    (direction << 30) | ((size_of::<libc::c_ulong>() as libc::c_ulong) << 16) | (0x70 << 8) | number
}

fn answer(code: libc::c_int) -> io::Result<()> {
    if code == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// A real-time clock. Those who switch its periodic interrupt off or set its rate must not have a real-time priority:
/// [`meter::methods`] explains why.
#[derive(Debug)]
pub struct Rtc(File);

impl Rtc {
    pub fn new(device: File) -> Self {
        Self(device)
    }

    pub fn device(&self) -> &File {
        &self.0
    }

    /// The rate in Hz.
    ///
    /// # Errors
    /// EINVAL or ENOTTY of a device without a periodic interrupt.
    pub fn rate_hz(&self) -> io::Result<u64> {
        let mut hz: libc::c_ulong = 0;
        // SAFETY: the request writes one `unsigned long`, which is live.
        answer(unsafe { libc::ioctl(self.0.as_raw_fd(), IRQP_READ as _, &raw mut hz) })?;
        Ok(hz as u64)
    }

    /// # Errors
    /// EACCES above the user's maximum without CAP_SYS_RESOURCE, EINVAL for a rate that the kernel does not have.
    pub fn set_rate_hz(&self, hz: u64) -> io::Result<()> {
        // SAFETY: the request takes a number.
        answer(unsafe { libc::ioctl(self.0.as_raw_fd(), IRQP_SET as _, hz as libc::c_ulong) })
    }

    /// # Errors
    /// Errors of the driver.
    pub fn switch_on(&self) -> io::Result<()> {
        // SAFETY: the request takes no argument.
        answer(unsafe { libc::ioctl(self.0.as_raw_fd(), PIE_ON as _, 0) })
    }

    /// # Errors
    /// Errors of the driver.
    pub fn switch_off(&self) -> io::Result<()> {
        // SAFETY: the request takes no argument.
        answer(unsafe { libc::ioctl(self.0.as_raw_fd(), PIE_OFF as _, 0) })
    }

    /// Whether there was an interrupt since the last read, or is one within this time.
    #[inline]
    pub fn wait(&self, at_most: Duration) -> bool {
        meter::kernel::descriptors::is_readable_within(self.0.as_fd(), at_most)
    }

    /// Periods since the last call; waits if there were none. The kernel writes a `long`.
    ///
    /// # Errors
    /// Errors of read(2).
    #[inline]
    pub fn periods(&self) -> io::Result<u64> {
        let mut bytes = [0; size_of::<usize>()];
        (&self.0).read_exact(&mut bytes)?;
        Ok(usize::from_ne_bytes(bytes) as u64 >> 8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_requests_are_those_of_the_kernel() {
        if cfg!(target_pointer_width = "64") {
            assert_eq!((IRQP_READ, IRQP_SET), (0x8008_700b, 0x4008_700c));
        }
    }
}
