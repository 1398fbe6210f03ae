//! Lets the kernel itself find the latest wake-up of threads that are not ours, and put the past aside at that instant.
//!
//! Three hist triggers: `hrtimer_start` keeps the instant a thread asked for, `sched_switch` computes how late it is given
//! the CPU and makes that an event of its own, and a maximum over this event swaps the buffers. The event in between is
//! needed because a thread that is preempted between setting its timer and going to sleep seems to be early, which as an
//! unsigned number would be the maximum for ever.
//!
//! The first two are in the instance of the follower. Its list of threads grows with them, so nothing need be set again for a
//! new one; and a trigger that reads the clock sets it, for which the kernel clears both buffers of its instance. The
//! third is in the instance whose buffers it swaps: an event that was made up happens in all of them.
//!
//! What the kernel asks for: every clock is `mono`, or the first hist of an instance sets its clock to another one. One
//! snapshot an instance; a second is busy. A maximum is forgotten only with its trigger. Triggers are taken off in the
//! reverse order, each by its full text as the kernel lists it.

use super::error::TraceError;
use crate::journal::trace_leftovers::append;
use ftrace::tracefs::Instance;
use std::path::Path;

/// Later than this (100 s) is no wake-up but a number that went below zero.
const LATENESS_NS_MAX: u64 = 100_000_000_000;

/// Makes the event known to the kernel. It must be in the journal already.
///
/// # Errors
/// [`TraceError`] naming what the kernel lacks.
pub fn define(tracefs_root: &Path, name: &str) -> Result<(), TraceError> {
    append(&tracefs_root.join("synthetic_events"), &format!("{name} pid_t pid; u64 late"))
        .map_err(TraceError::NoSyntheticEvents)
}

/// What is a maximum.
#[derive(Debug, Clone, Default)]
pub struct Lateness {
    /// Filter on timers that end a sleep.
    pub timers: String,
    /// Deadlines before do not take part, in ns.
    pub from_ns: i64,
    /// Wake-ups earlier than this are no news, in ns.
    pub threshold_ns: i64,
}

/// Has the threads that `follower` records compared with their deadlines, and `snapshotter` swap its buffers at a maximum.
///
/// # Errors
/// [`TraceError`]; EBUSY means that a snapshot of the snapshotter is triggered already, or a latency tracer holds it.
pub fn find_in_threads(
    follower: &Instance,
    snapshotter: &Instance,
    event: &str,
    lateness: &Lateness,
) -> Result<(), TraceError> {
    let due = format!(
        "hist:keys=common_pid:due=softexpires:clock=mono if ({}) && softexpires >= {}",
        lateness.timers, lateness.from_ns
    );
    let late = format!(
        "hist:keys=next_pid:late=common_timestamp-$due:onmatch(timer.hrtimer_start).trace({event},next_pid,$late):clock=mono if next_pid != 0"
    );
    let maximum = format!(
        "hist:keys=pid:l=late:onmax($l).snapshot():clock=mono if late > {} && late < {LATENESS_NS_MAX}",
        lateness.threshold_ns.max(0)
    );
    follower.add_trigger("timer", "hrtimer_start", &due)?;
    follower.add_trigger("sched", "sched_switch", &late)?;
    snapshotter.add_trigger("synthetic", event, &maximum).map_err(TraceError::from)
}

/// The same for our own measuring threads, which can be told by their names: how late each gets the CPU, by the instant it
/// armed its timer for. A maximum is never forgotten, so deadlines before the first counted one must not take part.
///
/// # Errors
/// [`TraceError`].
pub fn find_in_own_threads(instance: &Instance, count_from_ns: i64) -> Result<(), TraceError> {
    // A thread's context also restarts the scheduler tick, whose deadline is not the thread's.
    let deadline = |function: &str| {
        format!(
            "hist:keys=common_pid:due=expires:clock=mono if {function} && comm ~ \"tardy-cpu*\" && expires >= {count_from_ns}"
        )
    };
    if instance.add_trigger("timer", "hrtimer_start", &deadline("function.function==hrtimer_wakeup")).is_err() {
        let by_address = deadline(&format!("function==0x{}", hrtimer_wakeup_address()?));
        instance.add_trigger("timer", "hrtimer_start", &by_address)?;
    }
    let maximum = "hist:keys=next_pid:late=common_timestamp-$due:onmax($late).snapshot():clock=mono \
         if next_comm ~ \"tardy-cpu*\" && next_prio < 100";
    instance.add_trigger("sched", "sched_switch", maximum).map_err(TraceError::from)
}

/// Address of the timer function of a sleeping thread, for kernels whose filters know no function names.
///
/// # Errors
/// [`TraceError`].
pub fn hrtimer_wakeup_address() -> Result<String, TraceError> {
    let symbols = std::fs::read_to_string("/proc/kallsyms").map_err(TraceError::Symbols)?;
    let address = symbols.lines().find_map(|line| {
        let mut words = line.split_whitespace();
        let address = words.next()?;
        (words.nth(1)? == "hrtimer_wakeup").then(|| address.to_owned())
    });
    match address {
        Some(address) if address.bytes().any(|digit| digit != b'0') => Ok(address),
        _ => Err(TraceError::HiddenSymbols),
    }
}
