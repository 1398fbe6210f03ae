//! Settings and results of the kernel's own tracers.

use crate::choice::choices;
use crate::histogram::Histogram;
use serde::{Deserialize, Serialize};

/// A kernel tracer, by its name in `available_tracers`, and its filters.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TracerSettings {
    /// `nop` for none, `function`, `function_graph`, `wakeup`, `wakeup_rt`, `wakeup_dl`, `irqsoff`, `preemptoff`, `preemptirqsoff`,
    /// `hwlat`, `osnoise` or `timerlat`.
    pub name: String,
    /// Functions to trace, as globs or `:mod:NAME`; all if empty.
    pub functions: Vec<String>,
    /// Functions to leave out, as globs.
    pub functions_not: Vec<String>,
    /// Threads to trace; all if empty.
    pub pids: Vec<i32>,
    /// Also trace what those threads start.
    pub children: bool,
    /// The tracer does not record latencies up to this, in ns; 0: it records only new maxima.
    pub threshold_ns: u64,
    /// Record the stack that the timer interrupt of the measured thread interrupted.
    pub stack: bool,
}

choices! {
    /// A measurement by the kernel itself, beside that of the meter.
    pub enum KernelSource {
        /// Latency of a timer interrupt and of the kernel thread it wakes.
        Timerlat = "timerlat",
        /// Time that interrupts and other threads take from a busy kernel thread.
        Osnoise = "osnoise",
        /// Time lost while interrupts are off and no kernel code runs.
        Hwlat = "hwlat",
    }
}

/// The thread that a latency tracer followed, or that ran in the recorded stretch.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TracedTask {
    pub name: String,
    pub tid: i32,
    /// The kernel's number: 0 other, 1 FIFO, 2 RR, 6 deadline.
    pub policy: u32,
    /// 1 to 99 for a real-time thread, else 0.
    pub priority: u32,
}

/// A function after which the same CPU recorded nothing for a time.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TracedFunction {
    pub name: String,
    /// Its caller; empty if the trace does not show it.
    pub caller: String,
    /// Time until the next line of the same CPU, in whole microseconds.
    pub ns: i64,
}

/// Longest text of a stretch that is kept, in bytes.
pub const TRACE_TEXT_BYTES_MAX: u64 = 2 << 20;
/// Most stretches that a run keeps.
pub const LATENCY_TRACES_MAX: u32 = 120;

/// A stretch that a kernel latency tracer recorded because it was the longest so far or above the threshold.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LatencyTrace {
    /// Number in the run, from 1; the kernel's text is `tracer/<number, four digits>.txt`.
    pub number: u32,
    pub tracer: String,
    /// Length of the stretch, in whole microseconds.
    pub latency_ns: i64,
    pub cpu: Option<u32>,
    pub task: Option<TracedTask>,
    /// Functions between which interrupts or preemption were off; absent for tracers of wake-ups.
    pub started_at: Option<String>,
    pub ended_at: Option<String>,
    /// Lines in the trace, and lines written before the oldest were overwritten.
    pub entries: u64,
    pub entries_written: u64,
    pub longest_function: Option<TracedFunction>,
    /// CLOCK_MONOTONIC of the copy; the stretch itself was slightly earlier.
    pub copied_ns: i64,
    /// The text was longer than the kept part.
    pub cut: bool,
}

/// A value that the kernel measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KernelSample {
    pub ns: i64,
    /// CLOCK_MONOTONIC of the kernel's record.
    pub seen_ns: i64,
}

/// Figures of one of the kernel's own sources on one CPU so far.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KernelSeries {
    pub source: KernelSource,
    /// The measured quantity, such as `timerlat irq`.
    pub name: String,
    pub cpu: u32,
    pub count: u64,
    pub sum_ns: i64,
    pub min_ns: Option<i64>,
    pub max_ns: Option<i64>,
    pub histogram: Histogram,
    /// The largest values, in descending order.
    pub worst: Vec<KernelSample>,
    /// Records of this CPU and source that the kernel overwrote before they were read.
    pub records_lost: u64,
}
