//! A latency tracer in its own instance: copies the kernel's text whenever a longer stretch was found.
//!
//! It cannot share the snapshotter's instance: while such a tracer is set, the kernel rejects snapshots there (EBUSY).

use super::catalogue::Tracer;
use super::recording;
use super::refusal::{self, Refusal};
use crate::journal::Journal;
use crate::kernel::clock;
use crate::trace::error::TraceError;
use archive::tracer::{LATENCY_TRACES_MAX, LatencyTrace, TRACE_TEXT_BYTES_MAX, TracerSettings};
use ftrace::latency_trace;
use ftrace::tracefs::{Instance, Tracefs};
use rustix::fs::inotify;
use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use wakeups::stretch::{kept, stretch};

/// Enough for tens of thousands of functions; the text of a full buffer is three times as large.
const BUFFER_KB: u32 = 512;
/// Most stretches to keep that are not the longest so far: with a threshold the kernel records every one above it.
const OTHERS_KEPT_MAX: u32 = 40;

/// A running tracer.
pub struct LatencyTracer {
    instance: Instance,
    tracer: &'static Tracer,
    changes: File,
    kept: u32,
    others_kept: u32,
    longest_us: u64,
    /// Stretches above the threshold that were not kept.
    pub not_kept: u64,
}

/// A kept stretch.
pub struct CopiedLatency {
    pub trace: LatencyTrace,
    pub text: String,
}

impl LatencyTracer {
    /// Sets up the tracer in a new instance; it does not record yet.
    ///
    /// # Errors
    /// The missing feature of the kernel, or its refusal.
    pub fn arm(
        instance: Instance,
        tracer: &'static Tracer,
        asked: &TracerSettings,
        journal: &mut Journal,
    ) -> Result<Self, Refusal> {
        instance.set_tracing_on(false)?;
        // The kernel timestamps the start of a stretch with the clock of its top-level buffer, and leaves out events
        // that seem older: with another clock here the text can be empty. Its times are relative, so any clock will do.
        let clock = Tracefs::at(instance.root()).capabilities().current_clock;
        if !clock.is_empty() {
            instance.set_clock(&clock)?;
        }
        instance.set_buffer_size_kb(BUFFER_KB)?;
        recording::follow(&instance, asked)?;
        set_threshold(instance.root(), asked.threshold_ns, journal)?;
        refusal::set_in(&instance, tracer)?;
        // This pauses the tracer during reads, so that a longer stretch does not replace a text that was read halfway.
        // Kernels before 5.9 always do that.
        let _ = instance.set_option("pause-on-trace", true);
        let changes = changes_of(&instance).map_err(|error| Refusal::Unwatched(error.into()))?;
        Ok(Self { instance, tracer, changes, kept: 0, others_kept: 0, longest_us: 0, not_kept: 0 })
    }

    /// Starts recording; earlier stretches are dropped.
    ///
    /// # Errors
    /// [`TraceError`].
    pub fn begin(&mut self) -> Result<(), TraceError> {
        let forget = || self.instance.reset_max_latency();
        forget().and_then(|()| self.instance.set_tracing_on(true)).map_err(TraceError::from)
    }

    /// The stretch recorded since the last call, if any.
    ///
    /// # Errors
    /// [`TraceError`].
    pub fn copy(&mut self) -> Result<Option<CopiedLatency>, TraceError> {
        let mut events = [0; 4096];
        let mut changed = false;
        while matches!((&self.changes).read(&mut events), Ok(count) if count > 0) {
            changed = true;
        }
        if !changed {
            return Ok(None);
        }
        let (text, cut) = self.text().map_err(|source| TraceError::Text { tracer: self.tracer.name, source })?;
        let parsed = latency_trace::LatencyTrace::parse(&text);
        // The head of an empty buffer has no latency: the file changed because the maximum was reset.
        let Some(latency_us) = parsed.latency_us.filter(|_| parsed.entries > 0) else { return Ok(None) };
        let is_longest = latency_us > self.longest_us;
        if self.kept == LATENCY_TRACES_MAX || (!is_longest && self.others_kept == OTHERS_KEPT_MAX) {
            self.not_kept += 1;
            return Ok(None);
        }
        self.others_kept += u32::from(!is_longest);
        self.longest_us = self.longest_us.max(latency_us);
        self.kept += 1;
        let stretch = stretch(&parsed, self.kept, clock::monotonic_ns(), cut);
        let trace = LatencyTrace { tracer: self.tracer.name.to_owned(), ..stretch };
        Ok(Some(CopiedLatency { trace, text }))
    }

    fn text(&self) -> std::io::Result<(String, bool)> {
        let file = File::open(self.instance.path().join("trace"))?;
        let mut bytes = Vec::new();
        file.take(TRACE_TEXT_BYTES_MAX + 1).read_to_end(&mut bytes)?;
        let mut text = String::from_utf8_lossy(&bytes).into_owned();
        let whole = kept(&text).len();
        let cut = whole < text.len();
        text.truncate(whole);
        Ok((text, cut))
    }

    /// Stops recording; recorded data can still be copied.
    pub fn stop(&self) {
        let _ = self.instance.set_tracing_on(false);
    }
}

/// For `poll`: readable if something may have been recorded.
impl AsFd for LatencyTracer {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.changes.as_fd()
    }
}

fn changes_of(instance: &Instance) -> rustix::io::Result<File> {
    let watcher: OwnedFd = inotify::init(inotify::CreateFlags::NONBLOCK | inotify::CreateFlags::CLOEXEC)?;
    inotify::add_watch(&watcher, instance.max_latency_path(), inotify::WatchFlags::MODIFY)?;
    Ok(File::from(watcher))
}

/// The threshold is global to the kernel.
fn set_threshold(root: &Path, threshold_ns: u64, journal: &mut Journal) -> Result<(), Refusal> {
    let path = root.join("tracing_thresh");
    let wanted = (threshold_ns / 1000).to_string();
    let now = std::fs::read_to_string(&path).unwrap_or_else(|_| "0".into());
    if now.trim() == wanted {
        return Ok(());
    }
    journal.change_setting(&path, &wanted).map(|_| ()).map_err(Refusal::Threshold)
}
