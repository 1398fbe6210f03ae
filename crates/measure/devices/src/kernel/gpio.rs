//! Lines of a GPIO character device (uAPI version 2), with the kernel's time stamps of their edges.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::fd::{AsRawFd, FromRawFd};
use std::path::Path;

const FLAG_INPUT: u64 = 1 << 2;
const FLAG_OUTPUT: u64 = 1 << 3;
const FLAG_BOTH_EDGES: u64 = 1 << 4 | 1 << 5;

/// `struct gpio_v2_line_attribute` with the lines that it holds for.
#[repr(C)]
struct ConfigAttribute {
    id: u32,
    padding: u32,
    value: u64,
    mask: u64,
}

/// `struct gpio_v2_line_request` with its `gpio_v2_line_config`.
#[repr(C)]
struct LineRequest {
    offsets: [u32; 64],
    consumer: [u8; 32],
    flags: u64,
    num_attributes: u32,
    config_padding: [u32; 5],
    attributes: [ConfigAttribute; 10],
    num_lines: u32,
    event_buffer_size: u32,
    padding: [u32; 5],
    descriptor: i32,
}

/// `struct gpio_v2_line_values`.
#[repr(C)]
struct LineValues {
    bits: u64,
    mask: u64,
}

/// Bytes of `struct gpio_v2_line_event`.
const EVENT_BYTES: usize = 48;
/// Its `id` of a rising edge.
const RISING_EDGE: u32 = 1;

/// An edge as the kernel saw it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineEdge {
    /// In ns of CLOCK_MONOTONIC.
    pub at_ns: i64,
    pub rising: bool,
}

impl LineEdge {
    fn of(event: &[u8; EVENT_BYTES]) -> Self {
        let [a, b, c, d, e, f, g, h, kind @ ..] = *event;
        let kind = u32::from_ne_bytes([kind[0], kind[1], kind[2], kind[3]]);
        Self { at_ns: u64::from_ne_bytes([a, b, c, d, e, f, g, h]) as i64, rising: kind == RISING_EDGE }
    }
}

/// The request `_IOWR(0xb4, number, size)` in the encoding of most architectures.
const fn request(number: u32, size: usize) -> u32 {
    3 << 30 | (size as u32) << 16 | 0xb4 << 8 | number
}

const GET_LINE: u32 = request(0x07, size_of::<LineRequest>());
const SET_VALUES: u32 = request(0x0f, size_of::<LineValues>());
const _: () = assert!(size_of::<LineRequest>() == 592 && size_of::<LineValues>() == 16);

/// One line that this process holds. The kernel gives it back with the process.
#[derive(Debug)]
pub struct Line(File);

impl Line {
    fn take(chip: &Path, offset: u32, flags: u64) -> io::Result<Self> {
        let chip = OpenOptions::new().read(true).write(true).open(chip)?;
        // SAFETY: a structure of integers, for which zeros are valid.
        let mut wanted: LineRequest = unsafe { std::mem::zeroed() };
        wanted.offsets[0] = offset;
        wanted.consumer[..5].copy_from_slice(b"tardy");
        (wanted.flags, wanted.num_lines) = (flags, 1);
        // SAFETY: the request reads and writes one such structure, which is live.
        if unsafe { libc::ioctl(chip.as_raw_fd(), GET_LINE as _, &raw mut wanted) } != 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel just made this descriptor, and nothing else owns it.
        Ok(Self(unsafe { File::from_raw_fd(wanted.descriptor) }))
    }

    /// A line whose edges can be read.
    ///
    /// # Errors
    /// EBUSY for a line in use, EINVAL for one that the chip does not have, ENXIO for one without an interrupt.
    pub fn input(chip: &Path, offset: u32) -> io::Result<Self> {
        Self::take(chip, offset, FLAG_INPUT | FLAG_BOTH_EDGES)
    }

    /// A line that is low until it is set.
    ///
    /// # Errors
    /// As for [`Line::input`].
    pub fn output(chip: &Path, offset: u32) -> io::Result<Self> {
        Self::take(chip, offset, FLAG_OUTPUT)
    }

    /// # Errors
    /// Errors of the driver.
    #[inline]
    pub fn set(&self, high: bool) -> io::Result<()> {
        let values = LineValues { bits: u64::from(high), mask: 1 };
        // SAFETY: the request reads one such structure, which is live.
        match unsafe { libc::ioctl(self.0.as_raw_fd(), SET_VALUES as _, &raw const values) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Waits for an edge.
    ///
    /// # Errors
    /// Errors of read(2).
    #[inline]
    pub fn edge(&self) -> io::Result<LineEdge> {
        let mut event = [0u8; EVENT_BYTES];
        let count = (&self.0).read(&mut event)?;
        if count != EVENT_BYTES {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(LineEdge::of(&event))
    }

    pub fn file(&self) -> &File {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_has_its_time_stamp_and_its_direction() {
        let mut event = [0xff; EVENT_BYTES];
        event[..8].copy_from_slice(&7_000_000_001_u64.to_ne_bytes());
        event[8..12].copy_from_slice(&1_u32.to_ne_bytes());
        assert_eq!(LineEdge::of(&event), LineEdge { at_ns: 7_000_000_001, rising: true });
        event[8..12].copy_from_slice(&2_u32.to_ne_bytes());
        assert!(!LineEdge::of(&event).rising);
    }
}
