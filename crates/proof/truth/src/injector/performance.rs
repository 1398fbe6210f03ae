//! The kernel's performance events, as far as injectors use them.

use crate::kernel::own_thread;
use std::ffi::CString;
use std::io;
use std::mem::size_of;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};

/// As the kernel lays out `perf_event_attr` in its fifth version.
#[repr(C)]
#[derive(Default)]
struct PerformanceEvent {
    kind: u32,
    bytes: u32,
    config: u64,
    period: u64,
    sample_fields: u64,
    read_fields: u64,
    flags: u64,
    wake_every: u32,
    breakpoint: u32,
    further: [u64; 4],
    stack_bytes: u32,
    clock: i32,
    registers: u64,
    watermark: u32,
    stack_depth: u16,
    reserved: u16,
}

const KIND_SOFTWARE: u32 = 1;
const CONFIG_CPU_CLOCK: u64 = 0;
/// An event that never happens: only what is recorded beside it matters.
const CONFIG_DUMMY: u64 = 9;
const FIELD_TIME: u64 = 1 << 2;
const FIELD_STACK: u64 = 1 << 5;
const FLAG_DISABLED: u64 = 1;
/// Every record has the fields of a sample.
const FLAG_FIELDS_IN_ALL: u64 = 1 << 18;
const FLAG_USE_CLOCK: u64 = 1 << 25;
const FLAG_SWITCHES: u64 = 1 << 26;
const SWITCH_ON: libc::c_ulong = 0x2400;
const SWITCH_OFF: libc::c_ulong = 0x2401;

fn open(event: &PerformanceEvent, thread: i32, cpu: i32) -> io::Result<i32> {
    let no_group = -1;
    // SAFETY: the kernel reads as many bytes as the structure says it has.
    let descriptor = unsafe { libc::syscall(libc::SYS_perf_event_open, event, thread, cpu, no_group, 0) } as i32;
    if descriptor < 0 { Err(io::Error::last_os_error()) } else { Ok(descriptor) }
}

fn map(descriptor: i32, bytes: usize) -> io::Result<*mut u8> {
    let access = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: asks for a new mapping wherever there is room. It and the descriptor stay until the process ends.
    let first = unsafe { libc::mmap(ptr::null_mut(), bytes, access, libc::MAP_SHARED, descriptor, 0) };
    if first == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(first.cast()) }
}

const PAGE_BYTES: usize = 4096;
/// Where the kernel says in the first page how far it has written, and reads how far was read.
const HEAD_AT: usize = 1024;
const TAIL_AT: usize = 1032;
const RECORD_LOST: u32 = 2;

/// Records of the kernel, in memory that is shared with it: a page about them, then the records.
pub struct Records {
    first: *mut u8,
    bytes: usize,
}

// SAFETY: the memory stays mapped until the process ends, and only the owner reads it.
unsafe impl Send for Records {}

impl Records {
    /// `bytes` is a power of two, at least a page.
    fn map(descriptor: i32, bytes: usize) -> io::Result<Self> {
        Ok(Self { first: map(descriptor, PAGE_BYTES + bytes)?, bytes })
    }

    /// Everything that the kernel wrote since the last call.
    pub fn take(&self) -> Vec<u8> {
        // SAFETY: inside of the first page, aligned, and the kernel reads and writes them as a whole.
        let (head, tail) =
            unsafe { (&*self.first.add(HEAD_AT).cast::<AtomicU64>(), &*self.first.add(TAIL_AT).cast::<AtomicU64>()) };
        let (from, to) = (tail.load(Ordering::Relaxed), head.load(Ordering::Acquire));
        let byte = |at: u64| {
            let at = PAGE_BYTES + (at % self.bytes as u64) as usize;
            // SAFETY: inside of the mapping; the kernel writes nothing between tail and head.
            unsafe { ptr::read_volatile(self.first.add(at)) }
        };
        let bytes = (from..to).map(byte).collect();
        tail.store(to, Ordering::Release);
        bytes
    }
}

/// One record: its type, its flags, and what follows.
pub type Record<'r> = (u32, u16, &'r [u8]);

/// The records in what was taken; `None` if the kernel says that some are missing, or one is cut off.
pub fn records(mut bytes: &[u8]) -> Option<Vec<Record<'_>>> {
    let mut found = Vec::new();
    while let [a, b, c, d, flags_low, flags_high, length_low, length_high, ..] = bytes {
        let kind = u32::from_ne_bytes([*a, *b, *c, *d]);
        let flags = u16::from_ne_bytes([*flags_low, *flags_high]);
        let length = usize::from(u16::from_ne_bytes([*length_low, *length_high])).max(8);
        if kind == RECORD_LOST {
            return None;
        }
        found.push((kind, flags, bytes.get(8..length)?));
        bytes = &bytes[length..];
    }
    Some(found)
}

/// The instant that a record of an event begins with, if the time is the first of its fields.
pub fn at_ns(content: &[u8]) -> Option<i64> {
    Some(i64::from_ne_bytes(content.get(..8)?.try_into().ok()?))
}

/// Has the kernel note the calling thread's switches with their CLOCK_MONOTONIC from here on.
pub fn own_switches(bytes: usize) -> io::Result<Records> {
    let event = PerformanceEvent {
        kind: KIND_SOFTWARE,
        bytes: size_of::<PerformanceEvent>() as u32,
        config: CONFIG_DUMMY,
        sample_fields: FIELD_TIME,
        flags: FLAG_FIELDS_IN_ALL | FLAG_USE_CLOCK | FLAG_SWITCHES,
        clock: libc::CLOCK_MONOTONIC,
        ..PerformanceEvent::default()
    };
    let (this_thread, any_cpu) = (0, -1);
    Records::map(open(&event, this_thread, any_cpu)?, bytes)
}

const RECORD_SAMPLE: u32 = 9;
const KIND_TRACEPOINT: u32 = 2;
const WAKING: &str = "/sys/kernel/tracing/events/sched/sched_waking/id";
const SET_FILTER: libc::c_ulong = 0x4008_2406;

/// The instants at which other contexts woke the calling thread, on whichever CPU.
pub struct OwnWakeups(Vec<Records>);

impl OwnWakeups {
    pub fn open() -> io::Result<Self> {
        const BYTES: usize = 4096;
        let number = std::fs::read_to_string(WAKING)?;
        let event = PerformanceEvent {
            kind: KIND_TRACEPOINT,
            bytes: size_of::<PerformanceEvent>() as u32,
            config: number.trim().parse().map_err(|_| io::Error::other("no number of an event"))?,
            period: 1,
            sample_fields: FIELD_TIME,
            flags: FLAG_USE_CLOCK | FLAG_DISABLED,
            clock: libc::CLOCK_MONOTONIC,
            ..PerformanceEvent::default()
        };
        let filter = CString::new(format!("pid == {}", own_thread()))?;
        // SAFETY: has no argument but a number.
        let cpus = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_CONF) } as i32;
        let of_cpu = |cpu: i32| {
            let any_thread = -1;
            let descriptor = open(&event, any_thread, cpu)?;
            ask(descriptor, SET_FILTER, filter.as_ptr() as usize)?;
            let records = Records::map(descriptor, BYTES)?;
            ask(descriptor, SWITCH_ON, 0)?;
            Ok(records)
        };
        Ok(Self((0..cpus.max(1)).map(of_cpu).collect::<io::Result<_>>()?))
    }

    /// Instants since the last call, ascending.
    pub fn take(&self) -> Vec<i64> {
        let mut instants: Vec<i64> = self.0.iter().flat_map(samples_in).collect();
        instants.sort_unstable();
        instants
    }
}

/// When the samples were taken that the kernel recorded since the last call.
fn samples_in(from: &Records) -> Vec<i64> {
    let taken = from.take();
    let samples = records(&taken).unwrap_or_default();
    samples.iter().filter(|(kind, ..)| *kind == RECORD_SAMPLE).filter_map(|(.., content)| at_ns(content)).collect()
}

fn ask(descriptor: i32, what: libc::c_ulong, argument: usize) -> io::Result<()> {
    // SAFETY: the requests take nothing, or the address of a text that outlives the call.
    let result = unsafe { libc::ioctl(descriptor, what as _, argument) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// A timer that samples a CPU, whatever it does, as `perf record` does.
pub struct Sampler {
    descriptor: i32,
    records: Records,
}

impl Sampler {
    pub fn open(cpu: usize, period_ns: u64) -> io::Result<Self> {
        /// Room for the samples of some 20 ms; what has no room is dropped.
        const BYTES: usize = 1 << 20;
        let event = PerformanceEvent {
            kind: KIND_SOFTWARE,
            bytes: size_of::<PerformanceEvent>() as u32,
            config: CONFIG_CPU_CLOCK,
            period: period_ns,
            sample_fields: FIELD_TIME | FIELD_STACK,
            flags: FLAG_DISABLED | FLAG_USE_CLOCK,
            clock: libc::CLOCK_MONOTONIC,
            ..PerformanceEvent::default()
        };
        let any_thread = -1;
        let descriptor = open(&event, any_thread, cpu as i32)?;
        Ok(Self { descriptor, records: Records::map(descriptor, BYTES)? })
    }

    /// When it took samples since the last call, as far as they were recorded.
    pub fn instants(&self) -> Vec<i64> {
        samples_in(&self.records)
    }

    pub fn switch_on(&self) -> io::Result<()> {
        ask(self.descriptor, SWITCH_ON, 0)
    }

    pub fn switch_off(&self) -> io::Result<()> {
        ask(self.descriptor, SWITCH_OFF, 0)
    }
}
