//! The threads of an emulator that execute its guest's processors, and the host kernel's counters of them.

use std::fs::{self, File};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Space for a line of the kernel; the needed part is at its start.
const LINE_BYTES: usize = 256;

/// A thread that executes one CPU of the guest, or all of them in turn.
#[derive(Debug)]
pub struct Processor {
    /// Numbers of the CPUs in the guest.
    pub cpus: Range<u32>,
    counters: File,
    state: File,
    /// The counters of the last reading, which show whether the state can have changed.
    last: Option<Counters>,
}

/// The scheduler's counters of a thread since its creation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counters {
    /// Execution time, in ns. While the thread runs it is up to a tick old.
    pub executed_ns: u64,
    /// Time runnable without a CPU, in ns; each wait is added when it ends.
    pub waited_ns: u64,
    /// Number of times it was switched in.
    pub turns: u64,
}

/// A reading of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reading {
    pub counters: Counters,
    /// Stopped by a signal or a debugger.
    pub stopped: bool,
}

impl Processor {
    /// All such threads of a process whose guest has `cpus` CPUs. Empty if it is gone, or does not name its threads as
    /// QEMU does.
    pub fn all_of(process: u32, cpus: u32) -> Vec<Self> {
        let threads = fs::read_dir(format!("/proc/{process}/task"));
        let mut found: Vec<Self> =
            threads.into_iter().flatten().flatten().filter_map(|thread| Self::open(&thread.path(), cpus)).collect();
        found.sort_by_key(|processor| processor.cpus.start);
        found
    }

    fn open(thread: &Path, cpus: u32) -> Option<Self> {
        let cpus = cpus_of(&fs::read_to_string(thread.join("comm")).ok()?, cpus)?;
        let (counters, state) = (File::open(thread.join("schedstat")).ok()?, File::open(thread.join("stat")).ok()?);
        Some(Self { cpus, counters, state, last: None })
    }

    /// Reads the counters; `None` if the thread is gone or its kernel does not count.
    pub fn read(&mut self) -> Option<Reading> {
        let counters = counters_in(line(&self.counters, &mut [0; LINE_BYTES])?)?;
        // The state is not read for a thread that was executed or switched in since: reading it takes far longer.
        let moved = self.last.replace(counters).is_some_and(|last| last != counters);
        let stopped = !moved && is_stopped(line(&self.state, &mut [0; LINE_BYTES])?)?;
        Some(Reading { counters, stopped })
    }
}

fn line<'a>(file: &File, buffer: &'a mut [u8; LINE_BYTES]) -> Option<&'a [u8]> {
    let count = file.read_at(buffer, 0).ok()?;
    buffer.get(..count)
}

/// `CPU 3/KVM` executes CPU 3, `ALL CPUs/TCG` all of them.
fn cpus_of(name: &str, cpus: u32) -> Option<Range<u32>> {
    let (executed, _) = name.trim_end().split_once('/').filter(|(_, accelerator)| !accelerator.is_empty())?;
    if executed == "ALL CPUs" {
        return Some(0..cpus);
    }
    let cpu: u32 = executed.strip_prefix("CPU ")?.parse().ok()?;
    Some(cpu..cpu.checked_add(1)?)
}

fn counters_in(line: &[u8]) -> Option<Counters> {
    let mut numbers = std::str::from_utf8(line).ok()?.split_ascii_whitespace().map(str::parse::<u64>);
    let mut next = || numbers.next()?.ok();
    Some(Counters { executed_ns: next()?, waited_ns: next()?, turns: next()? })
}

/// The state letter after the name, which may contain brackets and spaces.
fn is_stopped(stat: &[u8]) -> Option<bool> {
    let end_of_name = stat.iter().rposition(|&byte| byte == b')')?;
    let letter = stat.get(end_of_name + 1..)?.iter().find(|byte| !byte.is_ascii_whitespace())?;
    Some(matches!(letter, b'T' | b't'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lines_of_the_kernel_are_read() {
        let expected = Counters { executed_ns: 12, waited_ns: 3_000_000_000_000, turns: 7 };
        assert_eq!(counters_in(b"12 3000000000000 7\n"), Some(expected));
        assert_eq!(counters_in(b"12 3\n"), None);
        assert_eq!(is_stopped(b"17 (CPU 0/TCG) T 1 17"), Some(true));
        assert_eq!(is_stopped(b"17 (T) t ) S 1 17"), Some(false));
        assert_eq!(is_stopped(b"17 (x"), None);
        let cpus_of = |name| cpus_of(name, 2);
        let named = ["CPU 3/KVM\n", "CPU 11/TCG", "ALL CPUs/TCG\n"];
        assert_eq!(named.map(cpus_of), [Some(3..4), Some(11..12), Some(0..2)]);
        assert_eq!(
            ["CPU x/KVM", "CPU 1", "CPU 1/", "ALL CPUs/", "CPU 4294967295/TCG", "qemu"].map(cpus_of),
            [const { None }; 6]
        );
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_line_of_some_kind(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = (counters_in(&bytes), is_stopped(&bytes), cpus_of(&String::from_utf8_lossy(&bytes), 4));
        }
    }

    #[test]
    fn a_thread_of_this_process_is_found_and_read() {
        let (end, over) = std::sync::mpsc::channel::<()>();
        let named = std::thread::Builder::new().name("CPU 5/TEST".into()).spawn(move || over.recv().is_ok()).unwrap();
        let found = || Processor::all_of(std::process::id(), 8).into_iter().find(|processor| processor.cpus == (5..6));
        // A thread sets its name after its creation.
        let mut processor = std::iter::repeat_with(found).flatten().next().unwrap();
        assert_eq!(processor.read().map(|reading| reading.stopped), Some(false));
        drop(end);
        named.join().unwrap();
    }
}
