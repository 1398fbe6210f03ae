//! What is asked of the kernel's own tracers beside the events.

use serde::{Deserialize, Serialize};

/// A tracer of the kernel, by the name `available_tracers` has for it, and what narrows it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct TracerSettings {
    /// `function`, `function_graph`, `wakeup`, `wakeup_rt`, `wakeup_dl`, `irqsoff`, `preemptoff`, `preemptirqsoff`,
    /// `hwlat`, `osnoise` or `timerlat`.
    pub name: String,
    /// Functions to trace, as globs or `:mod:NAME`; all when empty.
    pub functions: Vec<String>,
    /// Functions to leave out, as globs.
    pub functions_not: Vec<String>,
    /// Threads to trace; all when empty.
    pub pids: Vec<i32>,
    /// Trace what those threads start, too.
    pub children: bool,
    /// Latencies up to this are not recorded by the tracer, in ns; 0: only new maxima are.
    pub threshold_ns: u64,
    /// Record the stack that the timer interrupt of the measured thread found.
    pub stack: bool,
}

/// A measurement that the kernel makes by itself, beside that of the meter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub enum KernelSource {
    /// Lateness of a timer's interrupt and of the kernel thread it wakes.
    Timerlat,
    /// Time that interrupts and other threads take from a busy kernel thread.
    Osnoise,
    /// Time that is lost while interrupts are off and nothing of the kernel runs.
    Hwlat,
}
