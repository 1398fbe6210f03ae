//! What is asked of the kernel's own tracers beside the events.

use crate::settings::{EffectiveSettings, SnapshotMode};
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
