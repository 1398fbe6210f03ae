//! What a measurement really runs with, whoever's wake-ups it is about.

use super::machine::Machine;
use crate::kernel::{clock, memory};
use crate::trace::capturing::Capturing;
use archive::settings::{EffectiveSettings, SnapshotMode};

/// All but the measuring threads and the kernel's tracer beside the events. `tool_tids` are threads of the tool's own.
pub fn effective(machine: &Machine, capturing: Option<&Capturing>, tool_tids: Vec<i32>) -> EffectiveSettings {
    EffectiveSettings {
        threads: Vec::new(),
        memory_locked_kb: memory::locked_kb(),
        cpu_dma_latency_us: machine.dma_latency_us(),
        snapshot_mode: capturing.map_or(SnapshotMode::Off, |capturing| capturing.mode),
        events: capturing.map(|capturing| capturing.events.clone()).unwrap_or_default(),
        events_absent: capturing.map(|capturing| capturing.events_absent.clone()).unwrap_or_default(),
        trace_clock: capturing.map(|_| "mono".into()),
        trace_buffer_kb_per_cpu: capturing.map_or(0, |capturing| capturing.buffer_kb_per_cpu),
        tracer: None,
        tool_tids,
        clock_step_ns: clock::step_ns(),
    }
}
