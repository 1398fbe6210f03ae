//! The settings of a run that the kernel granted.

use crate::policy::Policy;
use crate::settings::SnapshotMode;
use serde::{Deserialize, Serialize};

/// Effective settings of one measuring thread, read back from the kernel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EffectiveThread {
    pub thread: u32,
    pub tid: i32,
    /// CPUs the kernel lets it run on.
    pub cpus: Vec<u32>,
    pub policy: Policy,
    pub priority: u8,
    pub timer_slack_ns: u64,
}

/// Effective settings of the whole measurement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EffectiveSettings {
    pub threads: Vec<EffectiveThread>,
    pub memory_locked_kb: u64,
    /// Value held in /dev/cpu_dma_latency, if any.
    pub cpu_dma_latency_us: Option<i32>,
    pub snapshot_mode: SnapshotMode,
    /// Recorded events, as `system:name`.
    pub events: Vec<String>,
    /// Events of the base set that this kernel does not have.
    pub events_absent: Vec<String>,
    pub trace_clock: Option<String>,
    pub trace_buffer_kb_per_cpu: u32,
    /// Kernel tracer that ran beside the events.
    #[serde(default)]
    pub tracer: Option<String>,
    /// Threads of the meter that do not measure, as named in the trace.
    #[serde(default)]
    pub tool_tids: Vec<i32>,
    /// Smallest difference between two reads of the clock, in ns.
    pub clock_step_ns: u64,
    /// Distance of two instants that the clock distinguishes, in ns: the larger of `clock_getres` and the tick that the
    /// steps of the clock show. `None`: neither is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub clock_resolution_ns: Option<u64>,
}

impl EffectiveSettings {
    /// The settings of a run without threads and recorders, whose clock counts nanoseconds.
    pub fn untraced() -> Self {
        Self {
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
            clock_resolution_ns: Some(1),
        }
    }

    /// Width in ns of the interval that a reading of the clock stands for, at most: an unknown resolution is no coarser
    /// than the smallest step seen.
    pub fn clock_width_ns(&self) -> u64 {
        self.clock_resolution_ns.unwrap_or(self.clock_step_ns)
    }

    /// The recorders during the measurement: `off`, `events (flip)`, `events (trigger) + function tracer`. Every
    /// event costs time, so figures of different levels are not comparable.
    pub fn tracing(&self) -> String {
        let mode = Some(self.snapshot_mode).filter(|mode| *mode != SnapshotMode::Off);
        // `nop` is not a tracer: it only carries options of the events.
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
        let mut effective = EffectiveSettings::untraced();
        assert_eq!(effective.tracing(), "off");
        effective.snapshot_mode = SnapshotMode::Flip;
        assert_eq!(effective.tracing(), "events (flip)");
        effective.tracer = Some("function".into());
        assert_eq!(effective.tracing(), "events (flip) + function tracer");
    }
}
