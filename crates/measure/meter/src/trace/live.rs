//! Snapshots of one instance that is read while it goes on recording, for kernels that cannot swap buffers themselves.
//!
//! An event that is enabled in a second instance costs time even while that one does not record, so a guard, which stands for
//! months, has only one. Reading takes away the oldest events first, and the kernel overwrites the oldest first as well: what
//! led to a spike is the newest, and goes last. The reader must be faster than the machine records, so this suits small buffers.

use super::doorbell::DoorbellInstance;
use super::error::TraceError;
use super::past::first_ns;
use super::snapshotter::{CpuCopy, Frozen, Snapshotter};
use crate::gaps::Gaps;
use crate::kernel::clock::monotonic_ns;
use archive::settings::SnapshotMode;
use ftrace::tracefs::{Instance, RawPages};
use std::fs::File;
use std::io::Write;
use std::time::Duration;

/// The buffer of one CPU.
struct Buffer {
    cpu: u32,
    pages: RawPages,
    /// Overrun and dropped counters after its last copy.
    counted: (u64, u64),
}

/// One instance and a doorbell.
pub struct LiveInstance {
    instance: Instance,
    marker: File,
    buffers: Vec<Buffer>,
    frozen_ns: i64,
    /// The buffers contain everything since this instant that was not overwritten.
    since_ns: i64,
    doorbell: DoorbellInstance,
}

impl LiveInstance {
    /// Takes a new instance.
    ///
    /// # Errors
    /// [`TraceError`].
    pub fn new(instance: Instance, doorbell: DoorbellInstance) -> Result<Self, TraceError> {
        let marker = instance.open_marker()?;
        Ok(Self { instance, marker, buffers: Vec::new(), frozen_ns: i64::MAX, since_ns: i64::MAX, doorbell })
    }
}

impl Buffer {
    /// Copies everything up to an instant, and possibly later events.
    fn copy(&mut self, instance: &Instance, until_ns: i64, copy: &mut CpuCopy) -> Result<(), TraceError> {
        let layout = self.pages.layout();
        copy.cpu = self.cpu;
        copy.stats = Some(instance.cpu_stats(self.cpu)?);
        copy.pages.clear();
        loop {
            let begin = copy.pages.len();
            let is_empty = self.pages.read_into(&mut copy.pages)? == 0;
            if is_empty || first_ns(&copy.pages[begin..], &layout).is_some_and(|ns| ns > until_ns) {
                break;
            }
        }
        // Only now: events may have been overwritten until they were read.
        let stats = instance.cpu_stats(self.cpu)?;
        let counted = (stats.overrun, stats.dropped_events + stats.commit_overrun);
        copy.overwritten = counted.0.saturating_sub(self.counted.0);
        copy.dropped = counted.1.saturating_sub(self.counted.1);
        self.counted = counted;
        Ok(())
    }
}

impl Snapshotter for LiveInstance {
    fn mode(&self) -> SnapshotMode {
        SnapshotMode::Live
    }

    fn has_doorbell(&self) -> bool {
        true
    }

    fn marker(&self) -> Result<File, TraceError> {
        self.doorbell.marker()
    }

    fn start(&mut self) -> Result<(), TraceError> {
        for cpu in self.instance.cpus() {
            self.buffers.push(Buffer { cpu, pages: self.instance.open_raw(cpu)?, counted: (0, 0) });
        }
        self.instance.set_tracing_on(true)?;
        self.since_ns = monotonic_ns();
        Ok(())
    }

    fn wait(&mut self, timeout: Duration) {
        self.doorbell.wait(timeout);
    }

    fn freeze(&mut self, note: &str, _unmarked: bool) -> Result<Frozen, TraceError> {
        // A trace without this line is complete, too.
        let _ = self.marker.write(note.as_bytes());
        self.frozen_ns = monotonic_ns();
        Ok(Frozen { frozen_ns: self.frozen_ns, swap_ns: 0, blind_ns: 0, recording_since_ns: self.since_ns })
    }

    fn copy(&mut self, into: &mut [CpuCopy], _gaps: &Gaps) -> Result<(), TraceError> {
        let mut outcome = Ok(());
        for (buffer, copy) in self.buffers.iter_mut().zip(into) {
            outcome = outcome.and(buffer.copy(&self.instance, self.frozen_ns, copy));
        }
        self.since_ns = monotonic_ns();
        outcome
    }

    fn copies_before_others_run(&self) -> bool {
        true
    }

    fn instance(&self) -> &Instance {
        &self.instance
    }
}
