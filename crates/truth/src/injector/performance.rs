//! The kernel's performance events, as far as injectors use them.

use std::io;
use std::mem::size_of;
use std::ptr;

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

/// Has the kernel note the calling thread's switches with their CLOCK_MONOTONIC, in memory that is shared with it from here on:
/// a page about the records, then the records.
pub fn own_switches(bytes: usize) -> io::Result<*mut u8> {
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
    map(open(&event, this_thread, any_cpu)?, bytes)
}

/// A timer that samples a CPU, whatever it does, as `perf record` does.
pub struct Sampler(i32);

impl Sampler {
    pub fn open(cpu: usize, period_ns: u64) -> io::Result<Self> {
        /// A page about the samples, and the least room for them; what has no room is dropped, as late.
        const BYTES: usize = 2 * 4096;
        let event = PerformanceEvent {
            kind: KIND_SOFTWARE,
            bytes: size_of::<PerformanceEvent>() as u32,
            config: CONFIG_CPU_CLOCK,
            period: period_ns,
            sample_fields: FIELD_TIME | FIELD_STACK,
            flags: FLAG_DISABLED,
            ..PerformanceEvent::default()
        };
        let any_thread = -1;
        let descriptor = open(&event, any_thread, cpu as i32)?;
        map(descriptor, BYTES)?;
        Ok(Self(descriptor))
    }

    pub fn switch_on(&self) -> io::Result<()> {
        self.ask(SWITCH_ON)
    }

    pub fn switch_off(&self) -> io::Result<()> {
        self.ask(SWITCH_OFF)
    }

    fn ask(&self, what: libc::c_ulong) -> io::Result<()> {
        // SAFETY: the request has no argument.
        let result = unsafe { libc::ioctl(self.0, what as _, 0) };
        if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}
