//! What is asked of the kernel's own tracers beside the events.

use crate::histogram::Histogram;
use crate::settings::{EffectiveSettings, SnapshotMode};
use serde::{Deserialize, Serialize};

/// A tracer of the kernel, by the name `available_tracers` has for it, and what narrows it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct TracerSettings {
    /// `nop` for none, `function`, `function_graph`, `wakeup`, `wakeup_rt`, `wakeup_dl`, `irqsoff`, `preemptoff`, `preemptirqsoff`,
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

impl EffectiveSettings {
    /// How much was recorded while the figures were taken, in words: `off`, `events (flip)`,
    /// `events (trigger) + function tracer`. Every event costs time, so figures of different levels do not compare.
    pub fn tracing(&self) -> String {
        let mode = match self.snapshot_mode {
            SnapshotMode::Auto => Some("auto"),
            SnapshotMode::Trigger => Some("trigger"),
            SnapshotMode::Onmax => Some("onmax"),
            SnapshotMode::Flip => Some("flip"),
            SnapshotMode::Off => None,
        };
        // `nop` is no tracer: it stands for options of the events alone.
        match (mode, self.tracer.as_deref().filter(|name| *name != "nop")) {
            (None, None) => "off".into(),
            (Some(mode), None) => format!("events ({mode})"),
            (None, Some(tracer)) => format!("{tracer} tracer"),
            (Some(mode), Some(tracer)) => format!("events ({mode}) + {tracer} tracer"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_level_of_tracing_is_said_in_words() {
        let mut effective = EffectiveSettings {
            threads: Vec::new(),
            memory_locked_kb: 0,
            cpu_dma_latency_us: None,
            snapshot_mode: SnapshotMode::Off,
            events: Vec::new(),
            events_absent: Vec::new(),
            trace_clock: None,
            trace_buffer_kb_per_cpu: 0,
            tracer: None,
            tool_tids: Vec::new(),
            clock_step_ns: 1,
        };
        assert_eq!(effective.tracing(), "off");
        effective.snapshot_mode = SnapshotMode::Flip;
        assert_eq!(effective.tracing(), "events (flip)");
        effective.tracer = Some("function".into());
        assert_eq!(effective.tracing(), "events (flip) + function tracer");
    }
}

/// The thread a latency tracer was after, or that ran in the stretch it kept.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct TracedTask {
    pub name: String,
    pub tid: i32,
    /// As the kernel counts them: 0 other, 1 FIFO, 2 RR, 6 deadline.
    pub policy: u32,
    /// 1 to 99 for a real-time thread, else 0.
    pub priority: u32,
}

/// A function after which the same CPU recorded nothing for a while.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct TracedFunction {
    pub name: String,
    /// Who called it; empty when the trace does not say.
    pub caller: String,
    /// Until the next line of the same CPU, in whole microseconds.
    pub ns: i64,
}

/// A stretch that a latency tracer of the kernel kept, because it was the longest so far or above the threshold.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct LatencyTrace {
    /// Number in the run, from 1; the kernel's text is `tracer/<number, four digits>.txt`.
    pub number: u32,
    pub tracer: String,
    /// Length of the stretch, in whole microseconds.
    pub latency_ns: i64,
    pub cpu: Option<u32>,
    pub task: Option<TracedTask>,
    /// Functions between which interrupts or preemption were off; absent with tracers of wake-ups.
    pub started_at: Option<String>,
    pub ended_at: Option<String>,
    /// Lines the trace has, and those it had before the oldest were overwritten.
    pub entries: u64,
    pub entries_written: u64,
    pub longest_function: Option<TracedFunction>,
    /// CLOCK_MONOTONIC when it was copied; the stretch itself was a little earlier.
    pub copied_ns: i64,
    /// The text was longer than is kept.
    pub cut: bool,
}

/// A value the kernel measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct KernelSample {
    pub ns: i64,
    /// CLOCK_MONOTONIC when the kernel recorded it.
    pub seen_ns: i64,
}

/// What one source of the kernel's measured on one CPU so far.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelSeries {
    pub source: KernelSource,
    /// What is measured, like `timerlat irq`.
    pub name: String,
    pub cpu: u32,
    pub count: u64,
    pub sum_ns: i64,
    pub min_ns: Option<i64>,
    pub max_ns: Option<i64>,
    pub histogram: Histogram,
    /// The largest, largest first.
    pub worst: Vec<KernelSample>,
    /// Records of this CPU and source that the kernel could not keep until they were read.
    pub records_lost: u64,
}
