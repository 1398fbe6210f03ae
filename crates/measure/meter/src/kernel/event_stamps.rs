//! The instants at which the kernel passes a point of its code, read without a system call: perf events whose time stamps
//! the kernel writes into memory that it shares with this process. Nothing of them outlives the descriptors.
//!
//! The kernel counts every event, but does not write a record of each one: the memory may be full, and Linux 6.18 writes none of
//! an interrupt that ends the sleep of an idle CPU, and no PERF_RECORD_LOST either. So each record carries the kernel's count
//! of its event, and a gap in the counts is reported as [`Passage::Lost`]. No later record shows the loss of the last
//! ones: [`EventStamps::count_lost`] asks the kernel for its counts.

mod ordinals;
#[cfg(test)]
mod tests;

use super::clock;
use super::perf_event::{
    self, Attributes, DATA_HEAD, ENABLE, EVERY_THREAD, FLAG_DISABLED, FLAG_USE_CLOCK, SAMPLE_TIME,
};
use ordinals::Ordinals;
pub use ordinals::Passage;
use std::ffi::CString;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::fd::AsRawFd;
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

const KIND_TRACEPOINT: u32 = 2;
/// The event's count follows its time.
const SAMPLE_READ: u64 = 1 << 4;
const FLAG_WATERMARK: u64 = 1 << 14;
const SET_FILTER: libc::c_ulong = 0x4000_2406 | ((size_of::<usize>() as libc::c_ulong) << 16);
const RECORD_SAMPLE: u32 = 9;
/// Offset in the first page of the shared memory.
const DATA_TAIL: usize = 1032;
const HEADER_BYTES: u64 = 8;
/// Header, time and count.
const SAMPLE_BYTES: u64 = 24;

/// Time stamps of one point, on some CPUs.
pub struct EventStamps {
    rings: Vec<Ring>,
}

/// The records of one CPU.
struct Ring {
    memory: NonNull<u8>,
    page: usize,
    event: File,
    ordinals: Ordinals,
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

    /// Reports each passage up to `until_ns` of which the kernel wrote a record, and each loss before one of them; in order for
    /// each CPU.
    #[inline]
    pub fn drain(&mut self, until_ns: i64, mut each: impl FnMut(Passage)) {
        for ring in &mut self.rings {
            ring.take(until_ns, &mut each);
        }
    }

    /// Reports passages that the kernel counted without a record and that [`EventStamps::drain`] did not report: those after the
    /// last record. Makes a system call and interrupts a CPU, for each CPU.
    pub fn count_lost(&mut self, mut each: impl FnMut(Passage)) {
        for ring in &mut self.rings {
            ring.count_lost(&mut each);
        }
    }

    /// The first stamp after `after_ns` and up to `until_ns`; forgets all up to there. `None` if there is none, or if the first one
    /// may be lost.
    #[inline]
    pub fn take(&mut self, after_ns: i64, until_ns: i64) -> Option<i64> {
        let mut first_ns = None;
        let mut is_certain = true;
        self.drain(until_ns, |passage| match passage {
            Passage::At { ns } if ns > after_ns => {
                first_ns = Some(first_ns.map_or(ns, |first_ns: i64| first_ns.min(ns)));
            }
            Passage::At { .. } => {}
            Passage::Lost { before_ns, .. } => is_certain &= before_ns <= after_ns,
        });
        if first_ns.is_none() {
            // What is lost now makes no later stamp uncertain.
            self.count_lost(|_| {});
        }
        first_ns.filter(|_| is_certain)
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
            sample_period: 1,
            sample_type: SAMPLE_TIME | SAMPLE_READ,
            // Nobody waits for the records, so no amount of them is to wake anybody.
            flags: FLAG_DISABLED | FLAG_WATERMARK | FLAG_USE_CLOCK,
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
        // SAFETY: the text that the attributes may point to lives until the call returns.
        let event = unsafe { perf_event::open(&mut attributes, EVERY_THREAD, cpu as libc::c_int) }?;
        drop(text);
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
        let memory = match NonNull::new(memory.cast::<u8>()) {
            Some(memory) if memory.as_ptr().cast::<libc::c_void>() != libc::MAP_FAILED => memory,
            _ => return Err(io::Error::last_os_error()),
        };
        let ring = Self { memory, page, event, ordinals: Ordinals::default() };
        // Not before there is memory for its records and a filter, so that the counts start at 0.
        // SAFETY: the request takes no pointer.
        let answer = unsafe { libc::ioctl(ring.event.as_raw_fd(), ENABLE as _, 0) };
        if answer == 0 { Ok(ring) } else { Err(io::Error::last_os_error()) }
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

    /// Time and count of the record at `tail`, if it is one of a passage, and where the next record starts.
    #[inline]
    fn record(&self, tail: u64, head: u64) -> (Option<(i64, u64)>, u64) {
        let header = self.word(tail);
        let kind = if cfg!(target_endian = "little") { header as u32 } else { (header >> 32) as u32 };
        let bytes = if cfg!(target_endian = "little") { header >> 48 } else { header & 0xffff };
        let is_passage = kind == RECORD_SAMPLE && bytes >= SAMPLE_BYTES;
        let passage = is_passage.then(|| (self.word(tail + HEADER_BYTES) as i64, self.word(tail + 2 * HEADER_BYTES)));
        // A record that is shorter than its header is none: the rest is given up.
        (passage, if bytes < HEADER_BYTES { head } else { tail + bytes })
    }

    #[inline]
    fn take(&mut self, until_ns: i64, mut each: impl FnMut(Passage)) {
        let head = self.position(DATA_HEAD).load(Acquire);
        let mut tail = self.position(DATA_TAIL).load(Relaxed);
        while tail < head {
            let (passage, next) = self.record(tail, head);
            if let Some((ns, ordinal)) = passage {
                if ns > until_ns {
                    break;
                }
                self.ordinals.passed(ns, ordinal, &mut each);
            }
            tail = next;
        }
        self.position(DATA_TAIL).store(tail, Release);
    }

    fn count_lost(&mut self, each: impl FnMut(Passage)) {
        let mut count = [0; 8];
        if !matches!((&self.event).read(&mut count), Ok(8)) {
            return;
        }
        let counted = u64::from_ne_bytes(count);
        let counted_ns = clock::monotonic_ns();
        // The kernel counts an event before it writes the record. So a record of an event in `counted` is in the memory by now, or it
        // comes for a passage that is reported as lost and is ignored.
        let head = self.position(DATA_HEAD).load(Acquire);
        let mut tail = self.position(DATA_TAIL).load(Relaxed);
        let mut unread = None;
        while tail < head && unread.is_none() {
            (unread, tail) = self.record(tail, head);
        }
        match unread {
            Some((ns, ordinal)) => self.ordinals.lost_before(ordinal, ns, each),
            None => self.ordinals.lost_before(counted.saturating_add(1), counted_ns, each),
        }
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and nothing refers to it any more.
        unsafe { libc::munmap(self.memory.as_ptr().cast(), 2 * self.page) };
    }
}
