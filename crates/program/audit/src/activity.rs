//! The activity of one thread, in order of time.

use crate::unseen::Unseen;
use std::collections::BTreeMap;
use std::rc::Rc;

/// A system call from its entry to its exit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Call {
    /// Number of the architecture.
    pub number: i64,
    pub arguments: [u64; 6],
    /// `None` if the call had not returned when the recording ended.
    pub answer: Option<i64>,
    pub start_ns: i64,
    pub end_ns: i64,
    /// Time in it without the CPU because it waited, in ns.
    pub waited_ns: i64,
    /// The part of that in the uninterruptible state: a device, or a lock of the kernel.
    pub uninterruptible_ns: i64,
    /// Addresses in user space, innermost first.
    pub stack: Rc<[u64]>,
    /// It was delayed or refused on purpose.
    pub injected: bool,
    /// Calls of the same site that it stands for beside itself, and how long they took together.
    pub joined: u64,
    pub joined_ns: i64,
}

impl Call {
    pub fn duration_ns(&self) -> i64 {
        self.end_ns.saturating_sub(self.start_ns)
    }

    /// Calls that it stands for.
    pub fn count(&self) -> u64 {
        self.joined.saturating_add(1)
    }

    /// Their durations together.
    pub fn total_ns(&self) -> i64 {
        self.duration_ns().saturating_add(self.joined_ns)
    }
}

/// A page fault.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fault {
    pub at_ns: i64,
    pub address: u64,
    /// The instruction that faulted.
    pub instruction: u64,
    /// In user mode; otherwise inside a system call.
    pub user: bool,
    /// Time without the CPU until the thread went on, in ns: a fault that read a file.
    pub waited_ns: i64,
    pub stack: Rc<[u64]>,
    /// Faults of the same site that it stands for beside itself.
    pub joined: u64,
}

impl Fault {
    /// Faults that it stands for.
    pub fn count(&self) -> u64 {
        self.joined.saturating_add(1)
    }
}

/// A signal that was delivered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Signal {
    pub at_ns: i64,
    pub number: i32,
    /// Signals of the same number that it stands for beside itself.
    pub joined: u64,
}

impl Signal {
    /// Signals that it stands for.
    pub fn count(&self) -> u64 {
        self.joined.saturating_add(1)
    }
}

/// One thread.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Activity {
    pub tid: i32,
    pub calls: Vec<Call>,
    pub faults: Vec<Fault>,
    pub signals: Vec<Signal>,
    /// Time of which events are missing.
    pub unseen: Unseen,
    /// How often each other thread woke it, by number; 0 is an interrupt while a CPU was idle.
    pub wakers: BTreeMap<i32, u64>,
    /// Smallest kernel priority that a switch showed: below 100 is real time, below 0 SCHED_DEADLINE.
    pub kernel_priority_min: Option<i64>,
    /// First and last event.
    pub first_ns: i64,
    pub last_ns: i64,
    /// Name at the last switch.
    pub name: Option<String>,
}

impl Activity {
    pub fn new(tid: i32, at_ns: i64) -> Self {
        Self { tid, first_ns: at_ns, last_ns: at_ns, ..Self::default() }
    }

    /// Time in a stretch of which the events were recorded, in ns.
    pub fn seen_ns(&self, start_ns: i64, end_ns: i64) -> i64 {
        end_ns.saturating_sub(start_ns).saturating_sub(self.unseen.within(start_ns, end_ns)).max(0)
    }
}
