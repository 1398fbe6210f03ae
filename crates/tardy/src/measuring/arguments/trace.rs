//! The options about the trace around a spike, of `tardy run` and `tardy watch`.

use crate::options::quantity::latency_ns;
use archive::settings::{SnapshotMode, TraceSettings};
use clap::{Args, ValueEnum};

/// Defaults of a verb without these options.
#[derive(Debug, Clone, Copy)]
pub struct TraceDefaults {
    pub buffer_kb: u32,
    pub snapshots: u32,
    pub budget_mb: u32,
    /// The meaning of `auto`.
    pub auto: SnapshotMode,
}

#[derive(Debug, Args)]
pub struct TraceArguments {
    /// How to capture the trace around a spike
    #[arg(long, value_enum, default_value = "auto", help_heading = "Trace")]
    pub(super) trace: TraceName,
    /// New maxima below this get no snapshot
    #[arg(long, value_name = "TIME", default_value = "0", value_parser = latency_ns, help_heading = "Trace")]
    pub(super) trace_threshold: i64,
    /// Trace buffer of each CPU, in kB [default: 4096; with function_graph 8192]
    #[arg(long, value_name = "KB", value_parser = clap::value_parser!(u32).range(8..), help_heading = "Trace")]
    pub(super) buffer_kb: Option<u32>,
    /// Snapshots to keep; larger spikes replace smaller ones [default: 40]
    #[arg(long, value_name = "N", help_heading = "Trace")]
    pub(super) snapshots: Option<u32>,
    /// Disk space for all snapshots, in MB [default: 64]
    #[arg(long, value_name = "MB", value_parser = clap::value_parser!(u32).range(1..), help_heading = "Trace")]
    pub(super) budget_mb: Option<u32>,
    /// On-time wake-ups to capture for comparison
    #[arg(long, value_name = "N", default_value_t = 5, help_heading = "Trace")]
    pub(super) controls: u32,
    /// Trace even while another tool is tracing
    #[arg(long, help_heading = "Trace")]
    pub(super) beside_others: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(super) enum TraceName {
    /// The best the kernel offers
    Auto,
    /// The kernel swaps its buffers at a late wake-up
    Trigger,
    /// The kernel finds the new maximum itself
    Onmax,
    /// Two trace instances take turns
    Flip,
    /// No trace
    Off,
}

impl TraceArguments {
    /// The settings for the meter; settings without an option have their defaults.
    pub fn settings(&self, defaults: TraceDefaults) -> TraceSettings {
        TraceSettings {
            mode: match self.trace {
                TraceName::Auto => defaults.auto,
                TraceName::Trigger => SnapshotMode::Trigger,
                TraceName::Onmax => SnapshotMode::Onmax,
                TraceName::Flip => SnapshotMode::Flip,
                TraceName::Off => SnapshotMode::Off,
            },
            buffer_kb_per_cpu: self.buffer_kb.unwrap_or(defaults.buffer_kb),
            threshold_ns: self.trace_threshold,
            snapshots_max: self.snapshots.unwrap_or(defaults.snapshots),
            budget_bytes: u64::from(self.budget_mb.unwrap_or(defaults.budget_mb)) << 20,
            controls: self.controls,
            beside_others: self.beside_others,
            ..TraceSettings::default()
        }
    }
}
