//! Samples of one thread's stack, in memory that the kernel overwrites from its end: the newest ones are there at any time.
//!
//! The kernel takes a sample whenever the thread has had the CPU for a period, and whenever it gives up the CPU, and notes each switch
//! of the thread. No process wakes for it, and nothing of it outlives the descriptor.

use super::perf_event::{self, Attributes};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering::Acquire};

/// Time on the CPU between two samples. The kernel sets a timer whenever the thread gets the CPU, and a shorter one costs more.
pub const PERIOD_NS: u64 = 500_000;
/// When the kernel takes a sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Occasion {
    /// The thread had the CPU for [`PERIOD_NS`]. Its switches are noted, too.
    Running,
    /// The thread gives up the CPU.
    Leaving,
}

impl Occasion {
    /// Largest part of the stack in a sample: 20 nested calls of ordinary functions need less than 4 KiB.
    fn stack_bytes(self) -> u32 {
        match self {
            Self::Running => 8 << 10,
            Self::Leaving => 4 << 10,
        }
    }

    /// Memory of the records: about 120 samples, so 60 ms of a thread that is always on the CPU, and 60 sleeps.
    fn record_bytes(self) -> usize {
        match self {
            Self::Running => 1 << 20,
            Self::Leaving => 256 << 10,
        }
    }

    /// Event, and how much of it makes a sample.
    fn event(self) -> (u64, u64) {
        match self {
            Self::Running => (perf_event::SOFTWARE_TASK_CLOCK, PERIOD_NS),
            Self::Leaving => (perf_event::SOFTWARE_CONTEXT_SWITCHES, 1),
        }
    }
}

/// Numbers of the registers, as `asm/perf_regs.h` has them: base or frame pointer, link register, stack pointer, next instruction.
#[cfg(target_arch = "x86_64")]
const REGISTERS: &[u32] = &[6, 7, 8];
#[cfg(target_arch = "aarch64")]
const REGISTERS: &[u32] = &[29, 30, 31, 32];
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const REGISTERS: &[u32] = &[];

/// The samples of one thread.
#[derive(Debug)]
pub struct StackRing {
    memory: NonNull<u8>,
    page: usize,
    record_bytes: usize,
    event: File,
}

// SAFETY: the memory belongs to the ring alone until it is dropped; which thread reads it does not matter to the kernel.
unsafe impl Send for StackRing {}

impl StackRing {
    /// Starts sampling a thread.
    ///
    /// # Errors
    /// ENOENT and ENOSYS of a kernel without such events, EACCES and EPERM without the right to record them, ESRCH without the thread.
    pub fn open(tid: i32, occasion: Occasion) -> io::Result<Self> {
        let (config, sample_period) = occasion.event();
        let record_bytes = occasion.record_bytes();
        let switches = if occasion == Occasion::Running { perf_event::FLAG_SWITCHES } else { 0 };
        let registers = REGISTERS.iter().fold(0, |mask, number| mask | 1_u64 << number);
        let unwound = perf_event::SAMPLE_USER_REGISTERS | perf_event::SAMPLE_USER_STACK;
        let mut attributes = Attributes {
            kind: perf_event::KIND_SOFTWARE,
            config,
            sample_period,
            sample_type: perf_event::SAMPLE_TID
                | perf_event::SAMPLE_TIME
                | perf_event::SAMPLE_CALL_CHAIN
                | if registers == 0 { 0 } else { unwound },
            flags: perf_event::FLAG_DISABLED
                | perf_event::FLAG_TIME_EVERYWHERE
                | perf_event::FLAG_USE_CLOCK
                | switches
                | perf_event::FLAG_WRITE_BACKWARD,
            sample_regs_user: registers,
            sample_stack_user: if registers == 0 { 0 } else { occasion.stack_bytes() },
            clock: libc::CLOCK_MONOTONIC,
            ..Attributes::default()
        };
        // SAFETY: the attributes hold no address.
        let event = unsafe { perf_event::open(&mut attributes, tid, perf_event::EVERY_CPU) }?;
        let page = rustix::param::page_size();
        // SAFETY: a new mapping of one page of description and the records, which no Rust object uses. Without the right to write
        // the kernel overwrites old records.
        let memory = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                page + record_bytes,
                libc::PROT_READ,
                libc::MAP_SHARED,
                event.as_raw_fd(),
                0,
            )
        };
        let memory = match NonNull::new(memory.cast::<u8>()) {
            Some(memory) if memory.as_ptr().cast::<libc::c_void>() != libc::MAP_FAILED => memory,
            _ => return Err(io::Error::last_os_error()),
        };
        let ring = Self { memory, page, record_bytes, event };
        // SAFETY: the request takes no pointer.
        let answer = unsafe { libc::ioctl(ring.event.as_raw_fd(), perf_event::ENABLE as _, 0) };
        if answer == 0 { Ok(ring) } else { Err(io::Error::last_os_error()) }
    }

    /// The records so far, newest first; the kernel writes none meanwhile.
    ///
    /// # Errors
    /// If the kernel does not stop writing.
    pub fn copy(&self) -> io::Result<Vec<u8>> {
        self.pause(true)?;
        // SAFETY: the first page is mapped while `self` lives, the offset is inside and aligned, and the kernel accesses it
        // as one word.
        let head = unsafe { self.memory.add(perf_event::DATA_HEAD).cast::<AtomicU64>().as_ref() }.load(Acquire);
        let first = head as usize % self.record_bytes;
        // It counts down from 0.
        let written = usize::try_from(head.wrapping_neg()).unwrap_or(usize::MAX).min(self.record_bytes);
        let mut records = vec![0; self.record_bytes];
        let (older, newer) = (self.record_bytes - first, first);
        // SAFETY: both parts are inside of the mapping and of the vector. A kernel that still ends a record may change bytes
        // meanwhile, and any bytes are valid.
        unsafe {
            let data = self.memory.as_ptr().add(self.page);
            std::ptr::copy_nonoverlapping(data.add(first), records.as_mut_ptr(), older);
            std::ptr::copy_nonoverlapping(data, records.as_mut_ptr().add(older), newer);
        }
        self.pause(false)?;
        records.truncate(written);
        Ok(records)
    }

    fn pause(&self, pause: bool) -> io::Result<()> {
        // SAFETY: the request takes a number.
        let answer =
            unsafe { libc::ioctl(self.event.as_raw_fd(), perf_event::PAUSE_OUTPUT as _, libc::c_ulong::from(pause)) };
        if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}

impl Drop for StackRing {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and nothing refers to it any more.
        unsafe { libc::munmap(self.memory.as_ptr().cast(), self.page + self.record_bytes) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::scheduling;

    fn samples(records: &[u8]) -> u32 {
        let kind = |bytes: &[u8]| u32::from_ne_bytes(bytes[..4].try_into().unwrap());
        let length = |bytes: &[u8]| usize::from(u16::from_ne_bytes(bytes[6..8].try_into().unwrap()));
        let (mut at, mut samples) = (0, 0);
        while at + 8 <= records.len() && length(&records[at..]) >= 8 {
            samples += u32::from(kind(&records[at..]) == 9);
            at += length(&records[at..]);
        }
        samples
    }

    #[test]
    fn a_thread_that_computes_is_sampled_and_its_newest_records_stay() {
        prerequisites::require!(Root);
        let ring = StackRing::open(scheduling::thread_id(), Occasion::Running).unwrap();
        let begun = std::time::Instant::now();
        while begun.elapsed() < std::time::Duration::from_millis(100) {
            std::hint::spin_loop();
        }
        let count = samples(&ring.copy().unwrap());
        assert!(count > 10, "{count} samples");
        let gone = StackRing::open(i32::MAX, Occasion::Running).unwrap_err();
        assert_eq!(gone.raw_os_error(), Some(libc::ESRCH));
    }

    #[test]
    fn a_thread_that_sleeps_leaves_its_stack_each_time_and_the_newest_ones_stay() {
        prerequisites::require!(Root);
        let ring = StackRing::open(scheduling::thread_id(), Occasion::Leaving).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(1));
        assert!(samples(&ring.copy().unwrap()) >= 1);
        (0..200).for_each(|_| std::thread::sleep(std::time::Duration::from_micros(100)));
        let records = ring.copy().unwrap();
        assert_eq!(records.len(), Occasion::Leaving.record_bytes());
        assert!((30..200).contains(&samples(&records)), "{}", samples(&records));
    }
}
