//! The loads that are built into the meter. They need no package on the target.

use crate::culprit::Culprit;
use std::fmt;

/// Default number of workers of a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Workers {
    Number(u32),
    PerCpu {
        at_most: u32,
    },
    /// Each part uses its own default.
    AsItsParts,
}

impl Workers {
    /// Number of workers on a machine with `cpus` CPUs; 0 leaves it to the parts.
    pub fn on(self, cpus: u32) -> u32 {
        match self {
            Self::Number(number) => number,
            Self::PerCpu { at_most } => cpus.clamp(1, at_most),
            Self::AsItsParts => 0,
        }
    }
}

impl fmt::Display for Workers {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Number(number) => write!(formatter, "{number}"),
            Self::PerCpu { at_most: u32::MAX } => write!(formatter, "1 per CPU"),
            Self::PerCpu { at_most } => write!(formatter, "1 per CPU, at most {at_most}"),
            Self::AsItsParts => write!(formatter, "as its parts"),
        }
    }
}

/// A load that needs no package on the target.
#[derive(Debug, Clone, Copy)]
pub struct BuiltinLoad {
    pub name: &'static str,
    /// The unit of its progress.
    pub unit: &'static str,
    /// One line for a list of loads.
    pub what: &'static str,
    /// Unit of a number of workers.
    pub worker: &'static str,
    pub workers: Workers,
    /// Loads that run together under this name.
    pub parts: &'static [&'static str],
    /// That it typically causes.
    pub culprits: &'static [Culprit],
    /// Needs besides a kernel; empty if there are none.
    pub needs: &'static str,
    /// Bounded by work alone: rounds of a fixed number of files, bytes, pages or messages, random numbers from a fixed
    /// seed, no clock and no time limit. Every run does the same work in the same order, regardless of its duration.
    pub by_work: bool,
}

const PER_CPU: Workers = Workers::PerCpu { at_most: u32::MAX };
const UP_TO_8: Workers = Workers::PerCpu { at_most: 8 };

/// Every built-in load, in the order to show them.
pub static BUILTIN_LOADS: [BuiltinLoad; 24] = [
    BuiltinLoad {
        name: "messaging",
        unit: "messages",
        what: "groups of 20 senders and 20 receivers exchange 100-byte messages over socket pairs",
        worker: "group",
        workers: Workers::PerCpu { at_most: 16 },
        parts: &[],
        culprits: &[Culprit::RescheduleIpi, Culprit::IrqsOff, Culprit::BlockingTask],
        needs: "",
        by_work: true,
    },
    BuiltinLoad {
        name: "dentry",
        unit: "entries",
        what: "create, look up and delete thousands of directory entries",
        worker: "process",
        workers: UP_TO_8,
        parts: &[],
        culprits: &[Culprit::Rcu, Culprit::SlabShrink, Culprit::BlockingTask],
        needs: "room for 2048 entries a worker",
        by_work: true,
    },
    BuiltinLoad {
        name: "walk",
        unit: "entries",
        what: "walk the root file system and ask after every entry, as find and du do",
        worker: "process",
        workers: Workers::Number(1),
        parts: &[],
        culprits: &[Culprit::SlabShrink, Culprit::Storage, Culprit::BlockingTask],
        needs: "",
        by_work: true,
    },
    BuiltinLoad {
        name: "copy",
        unit: "bytes",
        what: "copy a file of up to 64 MB over and over, with write-back to the disk",
        worker: "process",
        workers: Workers::Number(1),
        parts: &[],
        culprits: &[Culprit::Storage, Culprit::Workqueue, Culprit::Reclaim],
        needs: "room for two files a worker",
        by_work: true,
    },
    BuiltinLoad {
        name: "bulk",
        unit: "bytes",
        what: "write and read a file in blocks of 1 MB past the page cache, so that the device moves the data",
        worker: "process",
        workers: Workers::Number(1),
        parts: &[],
        culprits: &[Culprit::Storage, Culprit::MemoryContention, Culprit::ThreadedIrq],
        needs: "room for a file a worker",
        by_work: true,
    },
    BuiltinLoad {
        name: "fault",
        unit: "faults",
        what: "map memory, touch every page, unmap it",
        worker: "process",
        workers: PER_CPU,
        parts: &[],
        culprits: &[Culprit::BlockingTask, Culprit::SlowReturn],
        needs: "",
        by_work: true,
    },
    BuiltinLoad {
        name: "munmap",
        unit: "pages",
        what: "fill memory of up to 32 MB and give it back in one go",
        worker: "process",
        workers: UP_TO_8,
        parts: &[],
        culprits: &[Culprit::BlockingTask, Culprit::IrqsOff],
        needs: "",
        by_work: true,
    },
    BuiltinLoad {
        name: "thp",
        unit: "huge pages",
        what: "map memory in huge pages, touch each, unmap it",
        worker: "process",
        workers: UP_TO_8,
        parts: &[],
        culprits: &[Culprit::Compaction, Culprit::MemoryContention],
        needs: "",
        by_work: true,
    },
    BuiltinLoad {
        name: "tlb",
        unit: "shootdowns",
        what: "threads on every CPU change the rights of pages they share, which interrupts the others each time",
        worker: "process with a thread per CPU",
        workers: Workers::Number(1),
        parts: &[],
        culprits: &[Culprit::TlbShootdown, Culprit::IrqsOff],
        needs: "two CPUs to have an effect",
        by_work: true,
    },
    BuiltinLoad {
        name: "cache",
        unit: "lines",
        what: "follow pointers through 32 MB in an order no prefetcher guesses",
        worker: "process",
        workers: PER_CPU,
        parts: &[],
        culprits: &[Culprit::MemoryContention, Culprit::SlowReturn],
        needs: "",
        by_work: true,
    },
    BuiltinLoad {
        name: "icache",
        unit: "calls",
        what: "call 32768 small functions spread over 2 MB of code in random order",
        worker: "process",
        workers: PER_CPU,
        parts: &[],
        culprits: &[Culprit::SlowReturn, Culprit::MemoryContention],
        needs: "an x86, ARM or RISC-V processor",
        by_work: true,
    },
    BuiltinLoad {
        name: "cpu",
        unit: "rounds",
        what: "compute with integers without pause",
        worker: "process",
        workers: PER_CPU,
        parts: &[],
        culprits: &[Culprit::Smt, Culprit::CpuFrequency, Culprit::Tick],
        needs: "",
        by_work: true,
    },
    BuiltinLoad {
        name: "fork",
        unit: "processes",
        what: "fork processes that touch some of their memory and end",
        worker: "process",
        workers: PER_CPU,
        parts: &[],
        culprits: &[Culprit::IrqsOff, Culprit::Rcu, Culprit::BlockingTask],
        needs: "",
        by_work: true,
    },
    BuiltinLoad {
        name: "exec",
        unit: "programs",
        what: "start processes that execute a small program and end",
        worker: "process",
        workers: PER_CPU,
        parts: &[],
        culprits: &[Culprit::Rcu, Culprit::BlockingTask, Culprit::Membarrier],
        needs: "",
        by_work: true,
    },
    BuiltinLoad {
        name: "timer",
        unit: "expiries",
        what: "64 timers that expire repeatedly within 1 ms",
        worker: "process with 64 timers",
        workers: PER_CPU,
        parts: &[],
        culprits: &[Culprit::Timers, Culprit::TimerInterrupt, Culprit::PreviousIrq],
        needs: "",
        by_work: false,
    },
    BuiltinLoad {
        name: "semaphore",
        unit: "handovers",
        what: "pairs of processes wake each other through semaphores",
        worker: "pair of processes",
        workers: PER_CPU,
        parts: &[],
        culprits: &[Culprit::RescheduleIpi, Culprit::IrqsOff],
        needs: "",
        by_work: true,
    },
    BuiltinLoad {
        name: "flock",
        unit: "locks",
        what: "four processes take and release one file lock",
        worker: "group of four processes",
        workers: UP_TO_8,
        parts: &[],
        culprits: &[Culprit::BlockingTask, Culprit::IrqsOff],
        needs: "",
        by_work: true,
    },
    BuiltinLoad {
        name: "pipe",
        unit: "messages",
        what: "pairs of processes send a word back and forth through pipes",
        worker: "pair of processes",
        workers: PER_CPU,
        parts: &[],
        culprits: &[Culprit::RescheduleIpi, Culprit::IrqsOff],
        needs: "",
        by_work: true,
    },
    BuiltinLoad {
        name: "udp",
        unit: "datagrams",
        what: "flood the loopback with datagrams that are answered",
        worker: "pair of processes",
        workers: UP_TO_8,
        parts: &[],
        culprits: &[Culprit::Network, Culprit::Softirq],
        needs: "",
        by_work: false,
    },
    BuiltinLoad {
        name: "ping",
        unit: "answers",
        what: "flood the loopback with echo requests that the kernel answers, as flood ping does",
        worker: "process",
        workers: Workers::Number(1),
        parts: &[],
        culprits: &[Culprit::Network, Culprit::Softirq],
        needs: "root, or a user that net.ipv4.ping_group_range lets ping",
        by_work: false,
    },
    BuiltinLoad {
        name: "printk",
        unit: "lines",
        what: "write lines to the kernel's log and, through it, to the console; a run raises the console's level for it and puts \
               it back",
        worker: "process",
        workers: Workers::Number(1),
        parts: &[],
        culprits: &[Culprit::Printk, Culprit::IrqsOff],
        needs: "root; the load pushes older messages out of the kernel's log",
        by_work: false,
    },
    BuiltinLoad {
        name: "mix",
        unit: "as its parts",
        what: "messaging, dentry and copy together, reported one by one",
        worker: "number for each part",
        workers: Workers::AsItsParts,
        parts: &["messaging", "dentry", "copy"],
        culprits: &[],
        needs: "",
        by_work: true,
    },
    BuiltinLoad {
        name: "molnar",
        unit: "as its parts",
        what: "copy, messaging and ping together, the mix that Ingo Molnar tried the first PREEMPT_RT kernels with",
        worker: "number for each part",
        workers: Workers::AsItsParts,
        parts: &["copy", "messaging", "ping"],
        culprits: &[],
        needs: "what its parts need",
        by_work: false,
    },
    BuiltinLoad {
        name: "churn",
        unit: "as its parts",
        what: "copy, dentry, munmap, fork, thp and exec together, reported one by one",
        worker: "number for each part",
        workers: Workers::AsItsParts,
        parts: &["copy", "dentry", "munmap", "fork", "thp", "exec"],
        culprits: &[],
        needs: "",
        by_work: true,
    },
];

/// The built-in load of this name.
pub fn builtin(name: &str) -> Option<&'static BuiltinLoad> {
    BUILTIN_LOADS.iter().find(|load| load.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mix_is_bounded_by_work_when_each_part_is() {
        for load in BUILTIN_LOADS.iter().filter(|load| !load.parts.is_empty()) {
            let parts = load.parts.iter().filter_map(|part| builtin(part)).all(|part| part.by_work);
            assert_eq!(load.by_work, parts, "{}", load.name);
        }
    }

    #[test]
    fn workers_follow_the_cpus_as_far_as_they_may() {
        assert_eq!([1, 4, 64].map(|cpus| UP_TO_8.on(cpus)), [1, 4, 8]);
        assert_eq!((PER_CPU.on(64), Workers::Number(1).on(64), Workers::AsItsParts.on(64)), (64, 1, 0));
        assert_eq!((UP_TO_8.to_string(), PER_CPU.to_string()), ("1 per CPU, at most 8".into(), "1 per CPU".into()));
    }
}
