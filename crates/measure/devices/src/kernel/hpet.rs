//! A timer of the high precision event timer (HPET), whose interrupt is one of hardware.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd};
use std::ptr::NonNull;
use std::time::Duration;

const IE_ON: libc::c_ulong = 0x6801;
const IE_OFF: libc::c_ulong = 0x6802;
const EPI: libc::c_ulong = 0x6804;
const INFO: libc::c_ulong = (2 << 30) | ((size_of::<Information>() as libc::c_ulong) << 16) | (0x68 << 8) | 3;
const IRQFREQ: libc::c_ulong = (1 << 30) | ((size_of::<libc::c_ulong>() as libc::c_ulong) << 16) | (0x68 << 8) | 6;

/// The kernel's `struct hpet_info`.
#[repr(C)]
#[derive(Default)]
struct Information {
    rate_hz: libc::c_ulong,
    flags: libc::c_ulong,
    hpet: libc::c_ushort,
    timer: libc::c_ushort,
}

/// Registers, in bytes from the start.
const CAPABILITIES: usize = 0;
const COUNTER: usize = 0xf0;
const COMPARATOR: usize = 0x108;
const TIMER_BYTES: usize = 0x20;
const REGISTERS_BYTES: usize = 1024;

fn answer(code: libc::c_int) -> io::Result<()> {
    if code == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// A timer that is ours until it is dropped: the kernel gives each opener another one, and stops it when it is closed.
#[derive(Debug)]
pub struct Hpet {
    device: File,
    timer: u16,
}

impl Hpet {
    /// # Errors
    /// Errors of the driver.
    pub fn new(device: File) -> io::Result<Self> {
        let mut information = Information::default();
        // SAFETY: the request writes one `hpet_info`, which is live.
        answer(unsafe { libc::ioctl(device.as_raw_fd(), INFO as _, &raw mut information) })?;
        Ok(Self { device, timer: information.timer })
    }

    /// Name of its interrupt in /proc/interrupts.
    pub fn interrupt_name(&self) -> String {
        format!("hpet{}", self.timer)
    }

    /// Starts periodic interrupts.
    ///
    /// # Errors
    /// EACCES above /proc/sys/dev/hpet/max-user-freq without CAP_SYS_RESOURCE, ENXIO of a timer without periods, EBUSY
    /// where no interrupt line is free.
    pub fn start(&self, hz: u64) -> io::Result<()> {
        let device = self.device.as_raw_fd();
        // SAFETY: these requests take a number or nothing.
        unsafe {
            answer(libc::ioctl(device, IRQFREQ as _, hz as libc::c_ulong))?;
            answer(libc::ioctl(device, EPI as _, 0))?;
            answer(libc::ioctl(device, IE_ON as _, 0))
        }
    }

    pub fn stop(&self) {
        // SAFETY: the request takes no argument.
        unsafe { libc::ioctl(self.device.as_raw_fd(), IE_OFF as _, 0) };
    }

    #[inline]
    pub fn wait(&self, at_most: Duration) -> bool {
        meter::kernel::descriptors::is_readable_within(self.device.as_fd(), at_most)
    }

    /// Interrupts since the last call; waits if there were none.
    ///
    /// # Errors
    /// Errors of read(2).
    #[inline]
    pub fn interrupts(&self) -> io::Result<u64> {
        let mut bytes = [0; size_of::<usize>()];
        (&self.device).read_exact(&mut bytes)?;
        Ok(usize::from_ne_bytes(bytes) as u64)
    }

    /// Maps its registers.
    ///
    /// # Errors
    /// EACCES of a kernel without `hpet_mmap=1`, ENOSYS of one without CONFIG_HPET_MMAP.
    pub fn registers(&self) -> io::Result<Registers> {
        // SAFETY: a new mapping that is only read.
        let memory = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                REGISTERS_BYTES,
                libc::PROT_READ,
                libc::MAP_SHARED,
                self.device.as_raw_fd(),
                0,
            )
        };
        match NonNull::new(memory.cast::<u8>()) {
            Some(memory) if memory.as_ptr().cast::<libc::c_void>() != libc::MAP_FAILED => {
                Ok(Registers { memory, comparator: COMPARATOR + TIMER_BYTES * usize::from(self.timer) })
            }
            _ => Err(io::Error::last_os_error()),
        }
    }
}

/// The registers of an HPET, as far as its time is concerned. Only the lower half of the counter is used: the upper one may
/// not exist.
#[derive(Debug)]
pub struct Registers {
    memory: NonNull<u8>,
    comparator: usize,
}

// SAFETY: the mapping belongs to this value until it is dropped, and is only read.
unsafe impl Send for Registers {}

impl Registers {
    fn word(&self, offset: usize) -> u32 {
        // SAFETY: inside the mapping, aligned; registers are read as whole words.
        unsafe { self.memory.add(offset).cast::<u32>().read_volatile() }
    }

    /// Length of a tick of the counter in fs.
    pub fn tick_fs(&self) -> u64 {
        u64::from(self.word(CAPABILITIES + 4))
    }

    #[inline]
    pub fn counter(&self) -> u32 {
        self.word(COUNTER)
    }

    /// Ticks from this value of the counter until the timer's next period; negative if it has started.
    #[inline]
    pub fn ticks_after(&self, counter: u32) -> i64 {
        i64::from(self.word(self.comparator).wrapping_sub(counter) as i32)
    }
}

impl Drop for Registers {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and nothing refers to it any more.
        unsafe { libc::munmap(self.memory.as_ptr().cast(), REGISTERS_BYTES) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_requests_are_those_of_the_kernel() {
        if cfg!(target_pointer_width = "64") {
            assert_eq!((INFO, IRQFREQ), (0x8018_6803, 0x4008_6806));
        }
    }
}
