//! The effective settings of a session, read back from the kernel.

use super::source::SampleSource;
use crate::kernel::{clock_resolution, memory};
use crate::trace::capturing::Capturing;
use archive::effective::EffectiveSettings;
use archive::settings::{RunSettings, SnapshotMode};
use rustix::time::ClockId;

/// `tool_tids` are threads of the tool that do not measure.
pub fn effective(
    settings: &RunSettings,
    source: &dyn SampleSource,
    capturing: Option<&Capturing>,
    cpu_dma_latency_us: Option<i32>,
    tool_tids: Vec<i32>,
) -> EffectiveSettings {
    EffectiveSettings {
        threads: source.threads(),
        memory_locked_kb: memory::locked_kb(),
        cpu_dma_latency_us,
        snapshot_mode: capturing.map_or(SnapshotMode::Off, |capturing| capturing.mode),
        events: capturing.map(|capturing| capturing.events.clone()).unwrap_or_default(),
        events_absent: capturing.map(|capturing| capturing.events_absent.clone()).unwrap_or_default(),
        trace_clock: capturing.map(|_| "mono".into()),
        trace_buffer_kb_per_cpu: capturing.map_or(0, |capturing| capturing.buffer_kb_per_cpu),
        tracer: settings.trace.tracer.as_ref().map(|tracer| tracer.name.clone()),
        tool_tids,
        clock_step_ns: clock_resolution::step_of_ns(ClockId::Monotonic),
        clock_resolution_ns: clock_resolution::resolution_ns(),
    }
}
