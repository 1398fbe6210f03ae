//! The files of the counters, opened once and read repeatedly.

use super::tables::{self, Look};
use crate::gaps::Gaps;
use crate::kernel::clock;
use std::fs::File;
use std::os::unix::fs::FileExt;

/// More than a machine with hundreds of CPUs needs. The rest is not read.
const BYTES_MAX: usize = 4 << 20;
const BYTES_FIRST: usize = 16 << 10;

/// Open files; those that this kernel lacks are absent.
pub struct Reading {
    stat: Option<File>,
    interrupts: Option<File>,
    softirqs: Option<File>,
    memory: Option<File>,
    pressure: Vec<(&'static str, File)>,
    threads: Vec<File>,
    ticks_per_second: u64,
    buffer: Vec<u8>,
}

impl Reading {
    pub fn open(threads: &[i32]) -> Self {
        let open = |path: &str| File::open(path).ok();
        let pressure = ["cpu", "memory", "io"].into_iter();
        Self {
            stat: open("/proc/stat"),
            interrupts: open("/proc/interrupts"),
            softirqs: open("/proc/softirqs"),
            memory: open("/proc/vmstat"),
            pressure: pressure.filter_map(|name| Some((name, open(&format!("/proc/pressure/{name}"))?))).collect(),
            threads: threads.iter().filter_map(|thread| open(&format!("/proc/self/task/{thread}/status"))).collect(),
            ticks_per_second: rustix::param::clock_ticks_per_second(),
            buffer: vec![0; BYTES_FIRST],
        }
    }

    /// All current values, and the ns for which it waited for gaps: the kernel writes each file in one go.
    pub fn look(&mut self, gaps: &Gaps) -> (Look, i64) {
        let Self { stat, interrupts, softirqs, memory, pressure, threads, ticks_per_second, buffer } = self;
        let mut look = Look::default();
        let mut waited_ns = 0;
        let mut await_gap = || {
            let since_ns = clock::monotonic_ns();
            gaps.wait();
            waited_ns += clock::monotonic_ns() - since_ns;
        };
        await_gap();
        if let Some(text) = stat.as_ref().and_then(|file| read(file, buffer)) {
            tables::stat(text, *ticks_per_second, &mut look);
        }
        await_gap();
        if let Some(text) = interrupts.as_ref().and_then(|file| read(file, buffer)) {
            look.interrupts = tables::interrupts(text);
        }
        await_gap();
        if let Some(text) = softirqs.as_ref().and_then(|file| read(file, buffer)) {
            look.softirqs = tables::softirqs(text);
        }
        await_gap();
        if let Some(text) = memory.as_ref().and_then(|file| read(file, buffer)) {
            tables::memory(text, &mut look);
        }
        for (resource, file) in pressure {
            await_gap();
            if let Some(waits) = read(file, buffer).and_then(tables::pressure) {
                look.pressure_us.insert(*resource, waits);
            }
        }
        for file in threads {
            await_gap();
            match read(file, buffer) {
                Some(text) => tables::switches(text, &mut look),
                // A sum without one of them would look like a decrease.
                None => {
                    (look.voluntary_switches, look.forced_switches) = (None, None);
                    break;
                }
            }
        }
        (look, waited_ns)
    }
}

/// The whole file as text; `None` if it cannot be read completely.
fn read<'a>(file: &File, buffer: &'a mut Vec<u8>) -> Option<&'a str> {
    let mut length = 0;
    loop {
        if length == buffer.len() {
            if length >= BYTES_MAX {
                return None;
            }
            buffer.resize(length * 2, 0);
        }
        match file.read_at(&mut buffer[length..], length as u64) {
            Ok(0) => return std::str::from_utf8(&buffer[..length]).ok(),
            Ok(more) => length += more,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => return None,
        }
    }
}
