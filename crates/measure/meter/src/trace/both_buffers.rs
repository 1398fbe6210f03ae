//! Snapshots by the kernel at each new maximum: mode `onmax`.
//!
//! The kernel compares each wake-up with its deadline and swaps its buffers at that very instant, so that the events
//! before the maximum are not overwritten. The next maximum swaps them back, however soon it comes, whether or not the
//! first was read, and without clearing anything. So both buffers are read at each spike, and their contents merged. It
//! then does not matter which of them has the past, and a spike that was not a maximum is found as well. The newest
//! part is kept for a spike that was in progress meanwhile: reading removes events from the kernel.

use super::error::TraceError;
use super::maxima;
use super::past::{first_ns, full_bytes, lost_events, newest_ns, touched};
use super::snapshotter::{CpuCopy, Frozen, Snapshotter};
use super::stitch::{in_order, tail_from_ns};
use super::swap_notifications::SwapNotifications;
use crate::gaps::Gaps;
use crate::journal::trace_leftovers;
use crate::kernel::clock::monotonic_ns;
use archive::settings::SnapshotMode;
use ftrace::tracefs::{Instance, RawPages};
use std::fs::File;
use std::time::Duration;

/// Passes over both buffers for one copy. A swap hides a buffer from a pass, but there are never three swaps within
/// one.
const PASSES_MAX: u32 = 8;
/// Kept part of a copy, as a fraction of a full buffer.
const KEPT_PART: usize = 4;

/// The two buffers of one CPU.
struct Buffers {
    cpu: u32,
    live: RawPages,
    spare: RawPages,
    /// The newest part of the last copy.
    kept: Vec<u8>,
}

/// One instance with a spare buffer.
pub struct BothBuffers {
    instance: Instance,
    buffer_kb: u32,
    notifications: SwapNotifications,
    buffers: Vec<Buffers>,
    /// Memory for sorting pages.
    ordered: Vec<u8>,
    /// Whether another component sets the triggers.
    foreign: bool,
    frozen_ns: i64,
    /// Since this instant the buffers and the kept part contain everything that was not overwritten.
    since_ns: i64,
}

impl BothBuffers {
    /// Takes a new instance and allocates its spare buffer when recording starts.
    pub fn new(instance: Instance, buffer_kb: u32) -> Self {
        Self {
            instance,
            buffer_kb,
            notifications: SwapNotifications::default(),
            buffers: Vec::new(),
            ordered: Vec::new(),
            foreign: false,
            frozen_ns: i64::MAX,
            since_ns: i64::MAX,
        }
    }

    /// Keeps the events for a spike in progress during this copy. All CPUs from the same instant on: silence of one CPU
    /// is proven by events of another.
    fn keep(&mut self, copies: &[CpuCopy], room: usize) {
        let tails = copies.iter().filter_map(|copy| tail_from_ns(&copy.pages, &copy.layout?, room / KEPT_PART));
        let from_ns = tails.max();
        for (buffers, copy) in self.buffers.iter_mut().zip(copies) {
            match from_ns {
                Some(from_ns) => in_order(&copy.pages, &buffers.live.layout(), from_ns, &mut buffers.kept),
                None => buffers.kept.clone_from(&copy.pages),
            }
        }
        self.since_ns = self.since_ns.max(from_ns.unwrap_or(i64::MIN));
    }
}

impl Buffers {
    /// Appends all events before an instant, and possibly later ones, to the pages of a copy.
    fn read(&mut self, before_ns: i64, room: usize, copy: &mut CpuCopy) -> Result<(), TraceError> {
        let layout = self.live.layout();
        let pages = &mut copy.pages;
        for pass in 0..PASSES_MAX {
            let begin = pages.len();
            self.spare.drain_into(pages, room)?;
            if pass == 0 {
                copy.put_aside_ns = newest_ns(&pages[begin..], &layout);
            }
            self.live.drain_into(pages, room)?;
            let mut new = pages[begin..].chunks_exact(layout.page_size).filter_map(|page| first_ns(page, &layout));
            if pass > 0 && new.all(|ns| ns >= before_ns) {
                return Ok(());
            }
        }
        Err(TraceError::Swapping { cpu: self.cpu })
    }
}

impl Snapshotter for BothBuffers {
    fn mode(&self) -> SnapshotMode {
        SnapshotMode::Onmax
    }

    fn marker(&self) -> Result<File, TraceError> {
        self.instance.open_marker().map_err(TraceError::from)
    }

    fn start(&mut self) -> Result<(), TraceError> {
        self.notifications = SwapNotifications::of(&self.instance);
        self.instance.take_snapshot()?;
        self.instance.clear_snapshot()?;
        for cpu in self.instance.cpus() {
            let live = self.instance.open_raw(cpu)?;
            let spare = self.instance.open_snapshot_raw(cpu)?;
            let room = full_bytes(self.buffer_kb, &live.layout());
            self.ordered.reserve(room);
            self.buffers.push(Buffers { cpu, live, spare, kept: touched(room / KEPT_PART) });
        }
        self.ordered = touched(self.ordered.capacity());
        self.instance.set_tracing_on(true)?;
        self.since_ns = monotonic_ns();
        Ok(())
    }

    fn begin(&mut self, count_from_ns: i64) -> Result<(), TraceError> {
        if self.foreign {
            return Ok(());
        }
        let armed = maxima::find_in_own_threads(&self.instance, count_from_ns);
        // A trigger that reads the clock sets it, and the kernel then clears both buffers.
        self.since_ns = monotonic_ns();
        armed
    }

    fn wait(&mut self, timeout: Duration) {
        self.notifications.wait(timeout);
    }

    fn freeze(&mut self, _note: &str, _unmarked: bool) -> Result<Frozen, TraceError> {
        self.frozen_ns = monotonic_ns();
        Ok(Frozen { frozen_ns: self.frozen_ns, swap_ns: 0, blind_ns: 0, recording_since_ns: self.since_ns })
    }

    fn copy(&mut self, into: &mut [CpuCopy], _gaps: &Gaps) -> Result<(), TraceError> {
        let mut outcome = Ok(());
        let mut room = 0;
        for (buffers, copy) in self.buffers.iter_mut().zip(into.iter_mut()) {
            let layout = buffers.live.layout();
            room = full_bytes(self.buffer_kb, &layout);
            (copy.cpu, copy.layout) = (buffers.cpu, Some(layout));
            copy.pages.clear();
            copy.pages.extend_from_slice(&buffers.kept);
            outcome = outcome.and(buffers.read(self.frozen_ns, room, copy));
            in_order(&copy.pages, &layout, self.since_ns, &mut self.ordered);
            std::mem::swap(&mut copy.pages, &mut self.ordered);
            (copy.overwritten, copy.dropped) = lost_events(&copy.pages, &layout);
        }
        self.keep(into, room);
        if outcome.is_err() {
            self.since_ns = monotonic_ns();
        }
        outcome
    }

    fn instance(&self) -> &Instance {
        &self.instance
    }

    fn leaves_maxima_to_others(&mut self) {
        self.foreign = true;
    }
}

impl Drop for BothBuffers {
    fn drop(&mut self) {
        trace_leftovers::release(&self.instance);
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
    use std::io::Write;
    use std::path::Path;

    const LAYOUT: PageLayout = PageLayout::bits64(ByteOrder::NATIVE);
    const LIVE: &str = "trace_pipe_raw";
    const SPARE: &str = "snapshot_raw";

    /// A directory like an instance with one CPU; data appended to a buffer's file is read once.
    fn like_an_instance() -> (tempfile::TempDir, BothBuffers) {
        let root = tempfile::tempdir().unwrap();
        let instance = root.path().join("instances/tardy-1-a");
        fs::create_dir_all(instance.join("per_cpu/cpu0")).unwrap();
        fs::create_dir(root.path().join("events")).unwrap();
        fs::write(root.path().join("events/header_page"), "").unwrap();
        fs::write(instance.join("trace_clock"), "[mono]\n").unwrap();
        for file in ["snapshot", "tracing_on", "per_cpu/cpu0/trace_pipe_raw", "per_cpu/cpu0/snapshot_raw"] {
            fs::write(instance.join(file), "").unwrap();
        }
        let mut snapshotter = BothBuffers::new(Tracefs::at(root.path()).open_instance("tardy-1-a").unwrap(), 64);
        snapshotter.start().unwrap();
        snapshotter.since_ns = 0;
        (root, snapshotter)
    }

    fn record(root: &Path, buffer: &str, events: &[i64], lost: bool) {
        let mut writer = PageWriter::new(LAYOUT);
        if lost {
            writer.lose(None);
        }
        events.iter().for_each(|ns| writer.push(RawRecord { ts_ns: *ns as u64, payload: &[9; 20] }));
        let path = root.join("instances/tardy-1-a/per_cpu/cpu0").join(buffer);
        OpenOptions::new().append(true).open(path).unwrap().write_all(&writer.finish()).unwrap();
    }

    #[test]
    fn a_past_that_a_second_maximum_swapped_away_is_found() {
        let (root, mut snapshotter) = like_an_instance();
        record(root.path(), LIVE, &[10, 20, 70], false);
        record(root.path(), SPARE, &[30, 60], false);
        let mut copies = [CpuCopy::default()];
        assert_eq!(snapshotter.freeze("", false).unwrap().recording_since_ns, 0);
        snapshotter.copy(&mut copies, &Gaps::default()).unwrap();
        assert_eq!((copies[0].event_times(&LAYOUT), copies[0].put_aside_ns), (vec![10, 20, 30, 60, 70], Some(60)));
        // A spike in progress since before the first copy.
        record(root.path(), LIVE, &[80, 90], false);
        snapshotter.freeze("", false).unwrap();
        snapshotter.copy(&mut copies, &Gaps::default()).unwrap();
        assert_eq!((copies[0].event_times(&LAYOUT), copies[0].put_aside_ns), (vec![10, 20, 30, 60, 70, 80, 90], None));
    }

    #[test]
    fn overwritten_records_are_not_claimed() {
        let (root, mut snapshotter) = like_an_instance();
        let many: Vec<i64> = (1..=2000).map(|at| at * 1000).collect();
        record(root.path(), SPARE, &many, false);
        let mut copies = [CpuCopy::default()];
        snapshotter.freeze("", false).unwrap();
        snapshotter.copy(&mut copies, &Gaps::default()).unwrap();
        assert_eq!(copies[0].event_times(&LAYOUT), many);
        record(root.path(), LIVE, &[3_000_000], false);
        let since_ns = snapshotter.freeze("", false).unwrap().recording_since_ns;
        snapshotter.copy(&mut copies, &Gaps::default()).unwrap();
        let known = copies[0].event_times(&LAYOUT);
        assert!(since_ns > 1000 && known.len() > 10, "since {since_ns}: {} events", known.len());
        assert_eq!((known[0], copies[0].overwritten), (since_ns, 0));
        assert!(known.ends_with(&[1_999_000, 2_000_000, 3_000_000]));
    }

    #[test]
    fn coverage_ends_at_overwritten_records() {
        let (root, mut snapshotter) = like_an_instance();
        record(root.path(), SPARE, &[10, 40], false);
        let mut copies = [CpuCopy::default()];
        snapshotter.copy(&mut copies, &Gaps::default()).unwrap();
        record(root.path(), LIVE, &[60, 70], true);
        record(root.path(), SPARE, &[50, 80], false);
        snapshotter.copy(&mut copies, &Gaps::default()).unwrap();
        assert_eq!((copies[0].event_times(&LAYOUT), copies[0].overwritten > 0), (vec![60, 70, 80], true));
    }
}
