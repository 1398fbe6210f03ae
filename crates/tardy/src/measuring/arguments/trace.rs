//! The options about the trace around a spike, of `tardy run` and `tardy watch`.

use super::declared::{key, options};
use crate::options::choice::one_of;
use crate::options::quantity::{latency_ns, positive_time_ns, time, whole};
use archive::settings::{RunSettings, SnapshotMode, TraceSettings, WorstOfEach};
use runner::plan::options::Place::Trace;

const BYTES_OF_MB: u64 = 1 << 20;

/// The tracer whose lines, one for the entry and one for the exit of a function, take almost three times as much.
pub(super) const FUNCTION_GRAPH: &str = "function_graph";

options! {
    pub struct TraceArguments, "Trace" {
        /// How to capture the trace around a spike
        #[arg(long = "trace", value_parser = one_of::<SnapshotMode>(), value_name = "MODE", default_value_t = TraceSettings::default().mode)]
        mode: SnapshotMode => Common, key(Trace);
        /// New maxima below this get no snapshot
        #[arg(long = "trace-threshold", value_name = "TIME", value_parser = latency_ns)]
        #[arg(default_value = time(TraceSettings::default().threshold_ns.unsigned_abs()))]
        threshold: i64 => Rare, key(Trace);
        /// Trace buffer of each CPU, in kB; twice the default for function_graph
        #[arg(long, value_name = "KB", value_parser = whole::<u32>(8..), default_value_t = TraceSettings::default().buffer_kb_per_cpu)]
        #[arg(default_value_if("tracer", FUNCTION_GRAPH, (2 * TraceSettings::default().buffer_kb_per_cpu).to_string()))]
        buffer_kb: u32 => Rare, key(Trace);
        /// Snapshots to keep; larger spikes replace smaller ones
        #[arg(long, value_name = "N", value_parser = whole::<u32>(0..), default_value_t = TraceSettings::default().snapshots_max)]
        snapshots: u32 => Rare, key(Trace);
        /// Also keep the worst of each TIME [default: 1h, where the run is longer]
        #[arg(long, value_name = "TIME", value_parser = positive_time_ns)]
        worst_of_each: Option<u64> => Rare, key(Trace);
        /// Disk space for all snapshots, in MB
        #[arg(long, value_name = "MB", value_parser = whole::<u32>(1..), default_value = megabytes(&TraceSettings::default()))]
        budget_mb: u32 => Rare, key(Trace);
        /// On-time wake-ups to capture for comparison
        #[arg(long, value_name = "N", value_parser = whole::<u32>(0..), default_value_t = TraceSettings::default().controls)]
        controls: u32 => Rare, key(Trace);
        /// Trace even while another tool is tracing
        #[arg(long)]
        beside_others: bool => Rare, key(Trace);
    }
}

/// The disk space of the settings as `--budget-mb` has it.
pub fn megabytes(settings: &TraceSettings) -> String {
    (settings.budget_bytes / BYTES_OF_MB).to_string()
}

impl TraceArguments {
    /// Comes after the options with the length of the run.
    pub fn apply(&self, settings: &mut RunSettings) {
        let duration_ns = settings.duration_ns;
        let settings = &mut settings.trace;
        settings.worst_of_each =
            self.worst_of_each.map(WorstOfEach::of_stretch).or_else(|| WorstOfEach::of_run(duration_ns));
        settings.mode = self.mode;
        settings.threshold_ns = self.threshold;
        settings.buffer_kb_per_cpu = self.buffer_kb;
        settings.snapshots_max = self.snapshots;
        settings.budget_bytes = u64::from(self.budget_mb) * BYTES_OF_MB;
        settings.controls = self.controls;
        settings.beside_others = self.beside_others;
    }
}
