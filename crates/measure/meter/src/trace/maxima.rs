//! Makes the kernel itself detect the worst wake-up of another program's threads, and take a snapshot at that instant.
//!
//! Three hist triggers: `hrtimer_start` stores the instant that a thread requested, `sched_switch` computes how late it
//! is switched in and generates a synthetic event, and a maximum over this event swaps the buffers. The event in
//! between is needed because a thread that is preempted between setting its timer and going to sleep seems to be early,
//! which as an unsigned number would be the maximum for ever.
//!
//! The first two are in the instance of the follower. They use its list of threads, so a new thread needs no further
//! settings; and a trigger that reads the clock sets it, for which the kernel clears both buffers of its instance. The
//! third is in the instance whose buffers it swaps: a synthetic event occurs in all instances.
//!
//! Requirements of the kernel: every clock is `mono`, otherwise the first hist of an instance changes its clock. One
//! snapshot per instance; a second one is busy. A maximum is only reset with its trigger. Triggers are removed in the
//! reverse order, each by its full text as the kernel lists it.

use super::error::TraceError;
use crate::journal::trace_leftovers::append;
use ftrace::tracefs::Instance;
use std::path::Path;

/// A larger value (100 s) is not a latency but a negative number.
const LATENESS_NS_MAX: u64 = 100_000_000_000;

/// Defines the event in the kernel. It must already be in the journal.
///
/// # Errors
/// [`TraceError`] with what the kernel lacks.
pub fn define(tracefs_root: &Path, name: &str) -> Result<(), TraceError> {
    append(&tracefs_root.join("synthetic_events"), &format!("{name} pid_t pid; u64 late"))
        .map_err(TraceError::NoSyntheticEvents)
}

/// The definition of a maximum.
#[derive(Debug, Clone, Default)]
pub struct Lateness {
    /// Filter for timers that end a sleep.
    pub timers: String,
    /// Earlier deadlines are ignored, in ns.
    pub from_ns: i64,
    /// Smaller latencies are ignored, in ns.
    pub threshold_ns: i64,
}

/// Compares the threads that `follower` records with their deadlines, and makes `snapshotter` swap its buffers at a
/// maximum.
///
/// # Errors
/// [`TraceError`]; EBUSY means that a snapshot of the snapshotter is already triggered, or a latency tracer uses it.
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

/// The same for the meter's measuring threads, which are recognised by name: how late each is switched in, compared
/// with the instant of its timer. A maximum is never reset, so deadlines before the first counted one must be ignored.
///
/// # Errors
/// [`TraceError`].
pub fn find_in_own_threads(instance: &Instance, count_from_ns: i64) -> Result<(), TraceError> {
    // The scheduler tick is also restarted in a thread's context, but its deadline is not the thread's.
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

/// Address of the timer function of a sleeping thread, for kernels whose filters do not support function names.
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
