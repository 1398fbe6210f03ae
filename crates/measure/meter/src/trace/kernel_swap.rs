//! Snapshots by the kernel, which swaps the live buffer with a spare one.
//!
//! The marker of the measuring thread triggers the swap, through a trigger on `ftrace:print`: mode `trigger`. If the
//! kernel does not report the swap ([`super::swap_notifications`]), the capturing thread polls the spike queue. The
//! spare buffer is cleared after it was copied: the next swap would make its old events live again.

use super::error::TraceError;
use super::past::{lost_events, newest_ns};
use super::snapshotter::{CpuCopy, Frozen, Snapshotter, drain_in};
use super::swap_notifications::SwapNotifications;
use crate::gaps::Gaps;
use crate::journal::trace_leftovers;
use crate::kernel::clock::monotonic_ns;
use crate::measure::thread::MARKER;
use archive::settings::SnapshotMode;
use ftrace::tracefs::{Instance, RawPages};
use std::fs::File;
use std::io::Write;
use std::time::Duration;

const TRIGGER: &str = "snapshot if buf ~ \"tardy-spike*\"";
/// A thread that was stopped before it wrote its marker writes it within this time, or its spike has no snapshot.
const MARKED_WITHIN: Duration = Duration::from_millis(50);

/// One instance with a spare buffer.
pub struct KernelSwap {
    instance: Instance,
    notifications: SwapNotifications,
    pages: Vec<(u32, RawPages)>,
    /// Whether the kernel has reported a swap since the last copy.
    swapped: bool,
    /// The live buffer contains everything since this instant: a swap removes the past from it.
    live_since_ns: i64,
}

impl KernelSwap {
    /// Takes a new instance and allocates its spare buffer when recording starts.
    pub fn new(instance: Instance) -> Self {
        Self {
            instance,
            notifications: SwapNotifications::default(),
            pages: Vec::new(),
            swapped: false,
            live_since_ns: i64::MAX,
        }
    }

    /// Reads the kernel's reports of swaps.
    fn take_notifications(&mut self) {
        self.swapped |= self.notifications.any();
    }

    /// A thread announces its spike before it writes the marker, which swaps.
    fn await_marker(&mut self) {
        self.take_notifications();
        if !self.swapped && self.notifications.are_supported() {
            self.wait(MARKED_WITHIN);
        }
    }
}

impl Snapshotter for KernelSwap {
    fn mode(&self) -> SnapshotMode {
        SnapshotMode::Trigger
    }

    fn marker(&self) -> Result<File, TraceError> {
        self.instance.open_marker().map_err(TraceError::from)
    }

    fn start(&mut self) -> Result<(), TraceError> {
        self.notifications = SwapNotifications::of(&self.instance);
        self.instance.take_snapshot()?;
        self.instance.clear_snapshot()?;
        for cpu in self.instance.cpus() {
            self.pages.push((cpu, self.instance.open_snapshot_raw(cpu)?));
        }
        self.instance.add_trigger("ftrace", "print", TRIGGER)?;
        self.instance.set_tracing_on(true)?;
        let since_ns = monotonic_ns();
        // The swap that created the spare buffer was not caused by a marker.
        self.take_notifications();
        (self.swapped, self.live_since_ns) = (false, since_ns);
        Ok(())
    }

    fn wait(&mut self, timeout: Duration) {
        self.swapped |= self.notifications.wait(timeout);
    }

    fn freeze(&mut self, _note: &str, unmarked: bool) -> Result<Frozen, TraceError> {
        if !unmarked {
            self.await_marker();
        }
        let began_ns = monotonic_ns();
        // A marker of a measuring thread has already swapped; another swap would make the past live again.
        if unmarked {
            let mut marker = self.instance.open_marker()?;
            marker.write_all(MARKER).map_err(TraceError::Marker)?;
        }
        let frozen_ns = monotonic_ns();
        let swap_ns = (frozen_ns - began_ns) as u64;
        Ok(Frozen { frozen_ns, swap_ns, blind_ns: 0, recording_since_ns: self.live_since_ns })
    }

    fn copy(&mut self, into: &mut [CpuCopy], gaps: &Gaps) -> Result<(), TraceError> {
        for (at, (cpu, raw)) in self.pages.iter_mut().enumerate() {
            let Some(copy) = into.get_mut(at) else { break };
            copy.cpu = *cpu;
            copy.layout = Some(raw.layout());
            copy.pages.clear();
            let room = copy.pages.capacity();
            drain_in(gaps, raw, &mut copy.pages, room.max(1 << 20))?;
            (copy.overwritten, copy.dropped) = lost_events(&copy.pages, &raw.layout());
        }
        // The last event of the snapshot is the one that swapped; everything later is in the live buffer.
        let newest = into.iter().filter_map(|copy| newest_ns(&copy.pages, &copy.layout?)).max();
        // If the snapshot is empty, the live buffer has not changed.
        self.live_since_ns = newest.unwrap_or(self.live_since_ns);
        // Until the snapshotter is idle there are no swaps.
        self.take_notifications();
        self.swapped = false;
        self.instance.clear_snapshot().map_err(TraceError::from)
    }

    fn forget(&mut self) {
        self.await_marker();
        self.live_since_ns = monotonic_ns();
        let _ = self.instance.clear_snapshot();
        self.take_notifications();
        self.swapped = false;
    }

    fn instance(&self) -> &Instance {
        &self.instance
    }
}

impl Drop for KernelSwap {
    fn drop(&mut self) {
        trace_leftovers::release(&self.instance);
    }
}

const _: () = assert!(MARKER.len() < 64, "the marker must stay one short line for the trigger to match");
