//! Snapshots of one instance that is read while it records, for kernels that cannot swap buffers themselves.
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

#[cfg(test)]
mod tests {
    use super::*;
    use ftrace::byte_order::ByteOrder;
    use ftrace::header::PageLayout;
    use ftrace::page::RawRecord;
    use ftrace::page::writer::PageWriter;
    use ftrace::tracefs::Tracefs;
    use std::fs::{self, OpenOptions};
    use std::path::Path;

    const LAYOUT: PageLayout = PageLayout::bits64(ByteOrder::NATIVE);
    const RAW: &str = "per_cpu/cpu0/trace_pipe_raw";

    /// Directories like an instance with one CPU and a doorbell; data appended to the buffer's file is read once.
    fn like_instances() -> (tempfile::TempDir, LiveInstance) {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("events")).unwrap();
        fs::write(root.path().join("events/header_page"), "").unwrap();
        for name in ["a", "bell"] {
            let instance = root.path().join("instances").join(name);
            fs::create_dir_all(instance.join("per_cpu/cpu0")).unwrap();
            let files = ["tracing_on", "trace_marker", "trace_pipe", "trace_clock", "buffer_size_kb", RAW];
            files.iter().for_each(|file| fs::write(instance.join(file), "").unwrap());
        }
        overrun(root.path(), 0);
        let tracefs = Tracefs::at(root.path());
        let doorbell = DoorbellInstance::new(tracefs.open_instance("bell").unwrap()).unwrap();
        let mut live = LiveInstance::new(tracefs.open_instance("a").unwrap(), doorbell).unwrap();
        live.start().unwrap();
        (root, live)
    }

    fn overrun(root: &Path, events: u64) {
        let stats =
            format!("entries: 0\noverrun: {events}\ncommit overrun: 0\nbytes: 0\ndropped events: 0\nread events: 0\n");
        fs::write(root.join("instances/a/per_cpu/cpu0/stats"), stats).unwrap();
    }

    fn record(root: &Path, events: &[i64]) {
        let mut writer = PageWriter::new(LAYOUT);
        events.iter().for_each(|ns| writer.push(RawRecord { ts_ns: *ns as u64, payload: &[9; 20] }));
        let path = root.join("instances/a").join(RAW);
        OpenOptions::new().append(true).open(path).unwrap().write_all(&writer.finish()).unwrap();
    }

    #[test]
    fn a_copy_has_everything_up_to_the_freeze_and_the_next_one_the_rest() {
        let (root, mut live) = like_instances();
        record(root.path(), &[10, 20]);
        let frozen = live.freeze("note", false).unwrap();
        let later = [frozen.frozen_ns + 1_000, frozen.frozen_ns + 2_000, frozen.frozen_ns + 3_000];
        record(root.path(), &later[..1]);
        record(root.path(), &later[1..]);
        let mut copies = [CpuCopy::default()];
        live.copy(&mut copies, &Gaps::default()).unwrap();
        assert_eq!(copies[0].event_times(&LAYOUT), [10, 20, later[0]], "a page of later events ends the copy");
        overrun(root.path(), 7);
        let next = live.freeze("", false).unwrap();
        assert!(next.recording_since_ns > frozen.frozen_ns && next.recording_since_ns <= next.frozen_ns);
        live.copy(&mut copies, &Gaps::default()).unwrap();
        assert_eq!((copies[0].event_times(&LAYOUT), copies[0].overwritten), (later[1..].to_vec(), 7));
        live.freeze("", false).unwrap();
        live.copy(&mut copies, &Gaps::default()).unwrap();
        assert_eq!((copies[0].event_times(&LAYOUT), copies[0].overwritten), (Vec::new(), 0));
    }
}
