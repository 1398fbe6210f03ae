//! Snapshots by flipping between two instances, for kernels that cannot swap buffers themselves.
//!
//! Both instances have the same events enabled; only one records. At a spike the other one is switched on before the
//! first is switched off, so no instant is unrecorded, and the first is copied afterwards. The measuring thread's marker
//! goes to the doorbell.

use super::doorbell::DoorbellInstance;
use super::error::TraceError;
use super::snapshotter::{CpuCopy, Frozen, Snapshotter, drain_in};
use crate::gaps::Gaps;
use crate::kernel::clock::monotonic_ns;
use archive::settings::SnapshotMode;
use ftrace::tracefs::{Instance, RawPages};
use std::fs::File;
use std::io::Write;
use std::time::Duration;

struct Side {
    instance: Instance,
    switch: File,
    marker: File,
    pages: Vec<(u32, RawPages)>,
    since_ns: i64,
    /// Overrun and dropped counters of each CPU at its last copy.
    counted: Vec<(u64, u64)>,
}

impl Side {
    fn new(instance: Instance) -> Result<Self, TraceError> {
        let switch = instance.open_tracing_on()?;
        let marker = instance.open_marker()?;
        Ok(Self { instance, switch, marker, pages: Vec::new(), since_ns: i64::MAX, counted: Vec::new() })
    }

    fn open_pages(&mut self) -> Result<(), TraceError> {
        for cpu in self.instance.cpus() {
            self.pages.push((cpu, self.instance.open_raw(cpu)?));
            self.counted.push((0, 0));
        }
        Ok(())
    }

    fn record(&mut self, on: bool) -> Result<(), TraceError> {
        let text: &[u8] = if on { b"1" } else { b"0" };
        let written = self.switch.write_all(text);
        written.map_err(|source| TraceError::Write { path: self.instance.path().join("tracing_on"), source })
    }
}

/// Two instances and a doorbell.
pub struct InstanceFlip {
    sides: [Side; 2],
    active: usize,
    doorbell: DoorbellInstance,
}

impl InstanceFlip {
    /// Takes new instances.
    ///
    /// # Errors
    /// [`TraceError`].
    pub fn new(first: Instance, second: Instance, doorbell: DoorbellInstance) -> Result<Self, TraceError> {
        Ok(Self { sides: [Side::new(first)?, Side::new(second)?], active: 0, doorbell })
    }
}

impl Snapshotter for InstanceFlip {
    fn mode(&self) -> SnapshotMode {
        SnapshotMode::Flip
    }

    fn has_doorbell(&self) -> bool {
        true
    }

    fn marker(&self) -> Result<File, TraceError> {
        self.doorbell.marker()
    }

    fn start(&mut self) -> Result<(), TraceError> {
        for side in &mut self.sides {
            side.open_pages()?;
        }
        self.sides[0].record(true)?;
        self.sides[0].since_ns = monotonic_ns();
        Ok(())
    }

    fn wait(&mut self, timeout: Duration) {
        self.doorbell.wait(timeout);
    }

    fn freeze(&mut self, note: &str, _unmarked: bool) -> Result<Frozen, TraceError> {
        let [first, second] = &mut self.sides;
        let (active, spare) = if self.active == 0 { (first, second) } else { (second, first) };
        let _ = active.marker.write(note.as_bytes());
        let began_ns = monotonic_ns();
        spare.record(true)?;
        spare.since_ns = monotonic_ns();
        // Events during the switch-off are certain to be in the spare instance only.
        let frozen_ns = monotonic_ns();
        active.record(false)?;
        let recording_since_ns = active.since_ns;
        self.active = 1 - self.active;
        Ok(Frozen { frozen_ns, swap_ns: (monotonic_ns() - began_ns) as u64, blind_ns: 0, recording_since_ns })
    }

    fn copy(&mut self, into: &mut [CpuCopy], gaps: &Gaps) -> Result<(), TraceError> {
        let side = &mut self.sides[1 - self.active];
        for (at, (cpu, raw)) in side.pages.iter_mut().enumerate() {
            let Some(copy) = into.get_mut(at) else { break };
            let stats = side.instance.cpu_stats(*cpu)?;
            let (overrun, dropped) = (stats.overrun, stats.dropped_events + stats.commit_overrun);
            let (overrun_before, dropped_before) = side.counted[at];
            side.counted[at] = (overrun, dropped);
            copy.cpu = *cpu;
            copy.stats = Some(stats);
            copy.overwritten = overrun.saturating_sub(overrun_before);
            copy.dropped = dropped.saturating_sub(dropped_before);
            copy.pages.clear();
            let room = copy.pages.capacity();
            drain_in(gaps, raw, &mut copy.pages, room.max(1 << 20))?;
        }
        Ok(())
    }

    fn instance(&self) -> &Instance {
        &self.sides[0].instance
    }

    fn instances(&self) -> Vec<Instance> {
        self.sides.iter().map(|side| side.instance.clone()).collect()
    }

    fn recording(&self) -> Vec<&Instance> {
        self.sides.iter().map(|side| &side.instance).collect()
    }
}
