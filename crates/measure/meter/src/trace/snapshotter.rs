//! The interface of a way to take snapshots.

use super::error::TraceError;
use crate::gaps::Gaps;
use archive::settings::SnapshotMode;
use ftrace::cpu_stats::CpuStats;
use ftrace::header::PageLayout;
#[cfg(test)]
use ftrace::page::{PageItem, PageItems};
use ftrace::tracefs::{Instance, RawPages};
use std::fs::File;
use std::time::Duration;

/// Sub-buffers to read at once.
const PAGES_AT_ONCE: usize = 16;

/// Appends all sub-buffers, at most `bytes_max`, reading in the gaps.
pub fn drain_in(gaps: &Gaps, raw: &mut RawPages, pages: &mut Vec<u8>, bytes_max: usize) -> Result<(), TraceError> {
    let at_once = PAGES_AT_ONCE * raw.layout().page_size;
    let mut left = bytes_max;
    loop {
        gaps.wait();
        let count = raw.drain_into(pages, at_once.min(left))?;
        left -= count.min(left);
        if count < at_once {
            return Ok(());
        }
    }
}

/// The instant of a snapshot.
#[derive(Debug, Clone, Copy)]
pub struct Frozen {
    pub frozen_ns: i64,
    pub swap_ns: u64,
    /// Time in which no buffer recorded.
    pub blind_ns: u64,
    /// Since when the frozen buffer has recorded; in mode `trigger` an instant at which it was live after the previous
    /// swap.
    pub recording_since_ns: i64,
}

/// The copied buffer of one CPU.
#[derive(Debug, Default)]
pub struct CpuCopy {
    pub cpu: u32,
    pub pages: Vec<u8>,
    /// Counters of the copied buffer, if the kernel provides them.
    pub stats: Option<CpuStats>,
    /// Layout of the pages, if the way of copying provides it.
    pub layout: Option<PageLayout>,
    /// Events overwritten and events dropped since this buffer was last copied or cleared.
    pub overwritten: u64,
    pub dropped: u64,
    /// Newest event of the snapshot that the kernel took by itself.
    pub put_aside_ns: Option<i64>,
}

#[cfg(test)]
impl CpuCopy {
    /// Instants of all events, in ns.
    pub fn event_times(&self, layout: &PageLayout) -> Vec<i64> {
        let items = self.pages.chunks(layout.page_size).flat_map(|page| PageItems::new(page, layout));
        let time = |item| if let PageItem::Record(record) = item { Some(record.ts_ns as i64) } else { None };
        items.filter_map(time).collect()
    }
}

/// One way of taking snapshots while recording continues.
pub trait Snapshotter: Send {
    fn mode(&self) -> SnapshotMode;
    /// Whether the measuring threads must write the marker at a spike.
    fn needs_marker(&self) -> bool {
        self.mode() != SnapshotMode::Onmax
    }
    /// Whether markers only wake [`Snapshotter::wait`]; in the other modes they are part of the trace.
    fn has_doorbell(&self) -> bool {
        false
    }
    /// A file for one measuring thread; a write to it marks a spike and wakes [`Snapshotter::wait`].
    ///
    /// # Errors
    /// [`TraceError`].
    fn marker(&self) -> Result<File, TraceError>;
    /// Starts recording.
    ///
    /// # Errors
    /// [`TraceError`].
    fn start(&mut self) -> Result<(), TraceError>;
    /// Sets the start of counting in advance.
    ///
    /// # Errors
    /// [`TraceError`].
    fn begin(&mut self, _count_from_ns: i64) -> Result<(), TraceError> {
        Ok(())
    }
    /// Waits until a spike may have been marked, at most this long.
    fn wait(&mut self, timeout: Duration);
    /// Takes a snapshot; recording continues. If possible, `note` is written into the trace as its last line.
    /// `unmarked`: no marker was written for any of its spikes.
    ///
    /// # Errors
    /// [`TraceError`]; the recording continues as before.
    fn freeze(&mut self, note: &str, unmarked: bool) -> Result<Frozen, TraceError>;
    /// Copies the snapshot into the prepared buffers, in the order of their CPUs, and prepares for the next one. Works in
    /// these gaps where nothing overwrites the snapshot meanwhile.
    ///
    /// # Errors
    /// [`TraceError`]; the buffers contain what was copied until then.
    fn copy(&mut self, into: &mut [CpuCopy], gaps: &Gaps) -> Result<(), TraceError>;
    /// Whether the machine records into the buffers that are copied: an ordinary task may be too slow.
    fn copies_before_others_run(&self) -> bool {
        false
    }
    /// Completes what a marker started, without a copy.
    fn forget(&mut self) {}
    /// The instance whose event formats describe the pages.
    fn instance(&self) -> &Instance;
    /// All instances that record, in turn or alone.
    fn instances(&self) -> Vec<Instance> {
        vec![self.instance().clone()]
    }
    /// The kernel should detect maxima of another program's threads; [`super::maxima::find_in_threads`] selects them
    /// later.
    fn leaves_maxima_to_others(&mut self) {}
    /// Every instance that records the events of spikes.
    fn recording(&self) -> Vec<&Instance> {
        vec![self.instance()]
    }
}
