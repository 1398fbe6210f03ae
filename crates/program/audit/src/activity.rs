//! The activity of one thread, in order of time.

use crate::lost::Lost;
use std::collections::BTreeMap;
use std::rc::Rc;

/// The recording that has an event. An intercepted program records its calls itself, and the trace the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    Calls,
    Trace,
}

/// A system call from its entry to its exit, or a call of a function.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Call {
    /// Number of the architecture, or of the function.
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
    /// Calls of functions of the C library, numbered by [`call_ring::function::Function`].
    pub function_calls: Vec<Call>,
    pub faults: Vec<Fault>,
    pub signals: Vec<Signal>,
    /// Time of which events of the trace are missing, in ns.
    pub unseen_ns: Lost,
    /// The program recorded its calls itself: a loss of the trace has them all the same.
    pub records_calls: bool,
    /// Calls that the program itself did not record.
    pub lost_calls: Lost,
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

    /// Time in a stretch of which the trace has the events, in ns.
    pub fn seen_ns(&self, start_ns: i64, end_ns: i64) -> i64 {
        end_ns.saturating_sub(start_ns).saturating_sub(self.unseen_ns.within(start_ns, end_ns)).max(0)
    }

    /// Calls of a stretch that the program itself did not record.
    pub fn lost_calls(&self, start_ns: i64, end_ns: i64) -> u64 {
        u64::try_from(self.lost_calls.within(start_ns, end_ns)).unwrap_or(0)
    }

    /// The rate in a stretch of events that the trace recorded there. Where losses took all of the time, the rest is a lower bound of the
    /// whole stretch. `None` without a time.
    pub fn traced_per_second(&self, count: u64, start_ns: i64, end_ns: i64) -> Option<u64> {
        let whole_ns = end_ns.saturating_sub(start_ns);
        per_second(count.into(), self.seen_ns(start_ns, end_ns)).or_else(|| per_second(count.into(), whole_ns))
    }

    /// The rate in a stretch of `count` of the calls that were recorded there, `recorded` in all. The lost ones of a program that
    /// records its calls are counted, and their kinds are taken to be in the proportion of the recorded ones.
    pub fn calls_per_second(&self, count: u64, recorded: u64, start_ns: i64, end_ns: i64) -> Option<u64> {
        if !self.records_calls {
            return self.traced_per_second(count, start_ns, end_ns);
        }
        let recorded = u128::from(recorded.max(1));
        let all = recorded + u128::from(self.lost_calls(start_ns, end_ns));
        per_second(u128::from(count) * all / recorded, end_ns.saturating_sub(start_ns))
    }
}

/// `None` without a time.
pub fn per_second(count: u128, ns: i64) -> Option<u64> {
    let ns = u128::try_from(ns).ok().filter(|ns| *ns > 0)?;
    u64::try_from(count * 1_000_000_000 / ns).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_of_calls_has_the_counted_lost_ones_and_not_the_losses_of_the_trace() {
        let mut thread = Activity { records_calls: true, ..Activity::new(1, 0) };
        thread.lost_calls.add(600_000_000, 900);
        thread.unseen_ns.add(500_000_000, 400_000_000);
        let whole = (0, 1_000_000_000);
        assert_eq!(thread.calls_per_second(100, 100, whole.0, whole.1), Some(1000));
        assert_eq!(thread.calls_per_second(50, 100, whole.0, whole.1), Some(500));
        assert_eq!(thread.traced_per_second(60, whole.0, whole.1), Some(100));
        assert_eq!(thread.calls_per_second(1, 100, 5, 5), None);
        thread.records_calls = false;
        assert_eq!(thread.calls_per_second(60, 100, whole.0, whole.1), Some(100));
        thread.unseen_ns.add(700_000_000, 600_000_000);
        assert_eq!(thread.traced_per_second(60, whole.0, whole.1), Some(60), "all of the time was lost: at least");
    }
}
