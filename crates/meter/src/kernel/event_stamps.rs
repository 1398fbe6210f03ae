//! The instants at which the kernel passes a point of its code, read without a system call: perf events whose time stamps
//! the kernel writes into memory that it shares with this process. Nothing of them outlives the descriptors.

use std::ffi::CString;
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::Path;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};

/// A point in the kernel's code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Point {
    /// The first instruction of a function, by a probe.
    Function(&'static str),
    /// The entry of the handler of an interrupt, by the name that /proc/interrupts shows.
    InterruptHandler(String),
}

/// The kernel's `struct perf_event_attr` of version 3.
#[repr(C)]
#[derive(Default)]
struct Attributes {
    kind: u32,
    bytes: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_watermark: u32,
    breakpoint_type: u32,
    config1: u64,
    config2: u64,
    branch_sample_type: u64,
    sample_regs_user: u64,
    sample_stack_user: u32,
    clock: i32,
}

const KIND_TRACEPOINT: u32 = 2;
const SAMPLE_TIME: u64 = 1 << 2;
const FLAG_WATERMARK: u64 = 1 << 14;
const FLAG_USE_CLOCK: u64 = 1 << 25;
const OPEN_CLOEXEC: libc::c_ulong = 1 << 3;
const SET_FILTER: libc::c_ulong = 0x4000_2406 | ((size_of::<usize>() as libc::c_ulong) << 16);
const RECORD_SAMPLE: u32 = 9;
/// Offsets in the first page of the shared memory.
const DATA_HEAD: usize = 1024;
const DATA_TAIL: usize = 1032;
const HEADER_BYTES: u64 = 8;

/// Time stamps of one point, on some CPUs.
pub struct EventStamps {
    rings: Vec<Ring>,
}

/// The records of one CPU.
struct Ring {
    memory: NonNull<u8>,
    page: usize,
    _event: OwnedFd,
}

// SAFETY: the memory belongs to the ring alone until it is dropped; which thread reads it does not matter to the kernel.
unsafe impl Send for Ring {}

impl EventStamps {
    /// `root` is the directory of /sys and of the trace file system's mount point.
    ///
    /// # Errors
    /// ENOENT of a kernel without such events or such a function, EACCES and EPERM without the right to record them.
    pub fn open(point: &Point, tracing: &Path, cpus: &[u32]) -> io::Result<Self> {
        let rings = cpus.iter().map(|cpu| Ring::open(point, tracing, *cpu)).collect::<io::Result<_>>()?;
        Ok(Self { rings })
    }

    /// Hands over each stamp up to `until_ns`, in order for each CPU.
    #[inline]
    pub fn drain(&mut self, until_ns: i64, mut each: impl FnMut(i64)) {
        for ring in &mut self.rings {
            ring.take(until_ns, &mut each);
        }
    }

    /// The first stamp after `after_ns` and up to `until_ns`; forgets all up to there. `None` if there is none.
    #[inline]
    pub fn take(&mut self, after_ns: i64, until_ns: i64) -> Option<i64> {
        let mut first_ns = None;
        self.drain(until_ns, |ns| {
            if ns > after_ns {
                first_ns = Some(first_ns.map_or(ns, |first_ns: i64| first_ns.min(ns)));
            }
        });
        first_ns
    }
}

/// Number of the kind of event that places a probe in a function.
fn probe_kind() -> io::Result<u32> {
    let text = fs::read_to_string("/sys/bus/event_source/devices/kprobe/type")?;
    text.trim().parse().map_err(io::Error::other)
}

impl Ring {
    fn open(point: &Point, tracing: &Path, cpu: u32) -> io::Result<Self> {
        let mut attributes = Attributes {
            bytes: size_of::<Attributes>() as u32,
            sample_period: 1,
            sample_type: SAMPLE_TIME,
            // Nobody waits for the records, so no amount of them is to wake anybody.
            flags: FLAG_WATERMARK | FLAG_USE_CLOCK,
            wakeup_watermark: u32::MAX,
            clock: libc::CLOCK_MONOTONIC,
            ..Attributes::default()
        };
        let mut text = CString::default();
        match point {
            Point::Function(name) => {
                text = CString::new(*name)?;
                attributes.kind = probe_kind()?;
                attributes.config1 = text.as_ptr() as u64;
            }
            Point::InterruptHandler(_) => {
                attributes.kind = KIND_TRACEPOINT;
                let id = fs::read_to_string(tracing.join("events/irq/irq_handler_entry/id"))?;
                attributes.config = id.trim().parse().map_err(io::Error::other)?;
            }
        }
        // SAFETY: `attributes` is live and as long as it says; the text that it may point to lives until the call returns.
        let event = unsafe {
            libc::syscall(libc::SYS_perf_event_open, &raw mut attributes, -1, cpu as libc::c_int, -1, OPEN_CLOEXEC)
        };
        drop(text);
        if event < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel has just made this descriptor for us.
        let event = unsafe { OwnedFd::from_raw_fd(event as i32) };
        if let Point::InterruptHandler(name) = point {
            let filter = CString::new(format!("name == \"{name}\""))?;
            // SAFETY: the request reads a string, which is live and ends with a zero.
            let answer = unsafe { libc::ioctl(event.as_raw_fd(), SET_FILTER as _, filter.as_ptr()) };
            if answer != 0 {
                return Err(io::Error::last_os_error());
            }
        }
        let page = rustix::param::page_size();
        // SAFETY: a new mapping of one page of description and one of records, which no Rust object uses.
        let memory = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                2 * page,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                event.as_raw_fd(),
                0,
            )
        };
        match NonNull::new(memory.cast::<u8>()) {
            Some(memory) if memory.as_ptr().cast::<libc::c_void>() != libc::MAP_FAILED => {
                Ok(Self { memory, page, _event: event })
            }
            _ => Err(io::Error::last_os_error()),
        }
    }

    fn position(&self, offset: usize) -> &AtomicU64 {
        // SAFETY: the first page is mapped while `self` lives, the offset is inside and aligned, and the kernel accesses it
        // as one word.
        unsafe { self.memory.add(offset).cast::<AtomicU64>().as_ref() }
    }

    /// Eight bytes of the records. The kernel places records at multiples of eight.
    fn word(&self, at: u64) -> u64 {
        let offset = self.page + (at as usize % self.page) / 8 * 8;
        // SAFETY: inside the second page and aligned; the kernel does not write between tail and head.
        unsafe { self.memory.add(offset).cast::<u64>().read_volatile() }
    }

    #[inline]
    fn take(&mut self, until_ns: i64, mut found: impl FnMut(i64)) {
        let head = self.position(DATA_HEAD).load(Acquire);
        let mut tail = self.position(DATA_TAIL).load(Relaxed);
        while tail < head {
            let header = self.word(tail);
            let kind = if cfg!(target_endian = "little") { header as u32 } else { (header >> 32) as u32 };
            let bytes = if cfg!(target_endian = "little") { header >> 48 } else { header & 0xffff };
            if kind == RECORD_SAMPLE {
                let ns = self.word(tail + HEADER_BYTES) as i64;
                if ns > until_ns {
                    break;
                }
                found(ns);
            }
            // A record that is shorter than its header is none: the rest is given up.
            tail = if bytes < HEADER_BYTES { head } else { tail + bytes };
        }
        self.position(DATA_TAIL).store(tail, Release);
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and nothing refers to it any more.
        unsafe { libc::munmap(self.memory.as_ptr().cast(), 2 * self.page) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_attributes_have_the_size_of_their_version() {
        assert_eq!(size_of::<Attributes>(), 96);
        if cfg!(target_pointer_width = "64") {
            assert_eq!(SET_FILTER, 0x4008_2406);
        }
    }

    #[test]
    fn a_function_that_no_kernel_has_is_refused() {
        assert!(EventStamps::open(&Point::Function("tardy_no_such_function"), Path::new("/nowhere"), &[0]).is_err());
        assert!(EventStamps::open(&Point::InterruptHandler("x".into()), Path::new("/nowhere"), &[0]).is_err());
    }
}
