//! A trace instance whose pages go to the host while it records.

use super::arming::INSTANCE_PREFIX;
use super::error::TraceError;
use crate::journal::{Entry, Journal};
use crate::link::{GrowingFile, Link};
use archive::message::{FileKind, LossKind};
use archive::recorded_pages::RecordedPages;
use ftrace::header::PageLayout;
use ftrace::page;
use ftrace::tracefs::{Instance, RawPages, Tracefs};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

/// Most bytes of one CPU per round: the rest of the session's work must not wait for it.
const ROUND_BYTES_MAX: usize = 16 << 20;

/// Bytes that are sent after the end: a run ends with what led to its end.
const LAST_BYTES: u64 = 8 << 20;
/// Most memory that the buffers of all CPUs take, and the least that one has.
const BUFFERS_KB_MAX: u32 = 64 << 10;
const BUFFER_KB_MIN: u32 = 512;

/// An instance and the files of its pages. The journal removes the instance.
pub struct StreamedTrace {
    pub instance: Instance,
    kind: fn(u32) -> FileKind,
    pages: Vec<(u32, RawPages)>,
    files: BTreeMap<u32, GrowingFile>,
    bytes: Vec<u8>,
    /// CPUs of which pages were left out since the last one that was sent.
    interrupted: BTreeSet<u32>,
    layout: PageLayout,
    description: RecordedPages,
}

impl StreamedTrace {
    /// Creates the instance, journalled, with recording off and no event on. `kind` says the file of a CPU's pages.
    ///
    /// # Errors
    /// [`TraceError`]; the journal undoes the changes.
    pub fn create(
        tracefs: &Tracefs,
        purpose: &str,
        buffer_kb_per_cpu: u32,
        kind: fn(u32) -> FileKind,
        journal: &mut Journal,
    ) -> Result<Self, TraceError> {
        let name = format!("{INSTANCE_PREFIX}{}-{purpose}", std::process::id());
        journal.note(Entry::TraceInstance { name: name.clone() })?;
        let instance = tracefs.create_instance(&name)?;
        instance.set_tracing_on(false)?;
        instance.set_clock("mono")?;
        let cpus = u32::try_from(instance.cpus().len()).unwrap_or(u32::MAX).max(1);
        instance.set_buffer_size_kb(buffer_kb_per_cpu.min((BUFFERS_KB_MAX / cpus).max(BUFFER_KB_MIN)))?;
        // A full buffer loses the newest events, so that what is there has no gaps but one.
        let _ = instance.set_option("overwrite", false);
        let _ = instance.set_option("record-cmd", false);
        let (pages, files, bytes, interrupted) = (Vec::new(), BTreeMap::new(), Vec::new(), BTreeSet::new());
        let layout = instance.page_layout()?;
        Ok(Self { instance, kind, pages, files, bytes, interrupted, layout, description: RecordedPages::default() })
    }

    /// Opens the pages of every CPU, once the events are on.
    ///
    /// # Errors
    /// [`TraceError`].
    pub fn open(&mut self, events: &[(&str, &str)], events_absent: Vec<String>) -> Result<(), TraceError> {
        let metadata = self.instance.metadata(events)?;
        for cpu in self.instance.cpus() {
            self.pages.push((cpu, self.instance.open_raw(cpu)?));
        }
        self.description = RecordedPages {
            big_endian: cfg!(target_endian = "big"),
            page_bytes: self.instance.page_layout()?.page_size as u64,
            header_page: metadata.header_page,
            header_event: metadata.header_event,
            event_formats: metadata.event_formats,
            events_absent,
            ..RecordedPages::default()
        };
        Ok(())
    }

    /// Sends a part of what was recorded since the last call, `share` bytes of all CPUs; the rest is left out and counted. A reader
    /// finds a gap there.
    pub fn drain_share<W: Write>(&mut self, link: &mut Link<W>, budget: &mut u64, share: u64) {
        let page_bytes = self.layout.page_size;
        let of_cpu = usize::try_from(share / (self.pages.len().max(1) as u64)).unwrap_or(usize::MAX);
        let kept_max = of_cpu / page_bytes * page_bytes;
        for (cpu, pages) in &mut self.pages {
            self.bytes.clear();
            // What cannot be read is a gap that the next page reports.
            let _ = pages.drain_into(&mut self.bytes, ROUND_BYTES_MAX);
            if self.bytes.is_empty() {
                continue;
            }
            let kept = self.bytes.len().min(kept_max).min(usize::try_from(*budget).unwrap_or(usize::MAX));
            let left_out = self.bytes.len() - kept;
            self.bytes.truncate(kept);
            if kept > 0 {
                if self.interrupted.remove(cpu) {
                    page::mark_missed(&mut self.bytes, &self.layout);
                }
                *budget -= kept as u64;
                let kind = (self.kind)(*cpu);
                self.files.entry(*cpu).or_insert_with(|| GrowingFile::begin(link, kind)).append(link, &self.bytes);
            }
            if left_out > 0 {
                self.interrupted.insert(*cpu);
                self.description.bytes_left_out += left_out as u64;
            }
        }
    }

    /// Stops recording, sends the rest, and ends the files. Losses are reported in the words of the caller: of events where the
    /// buffers were full, of bytes where the budget was used up.
    pub fn close<W: Write>(
        &mut self,
        link: &mut Link<W>,
        budget: &mut u64,
        buffers_full: &str,
        budget_used: &str,
    ) -> RecordedPages {
        let _ = self.instance.set_tracing_on(false);
        self.drain_share(link, budget, LAST_BYTES);
        self.description.cpus = self.files.keys().copied().collect();
        std::mem::take(&mut self.files).into_values().for_each(|file| file.end(link));
        let stats = self.description.cpus.iter().filter_map(|cpu| self.instance.cpu_stats(*cpu).ok());
        link.loss(LossKind::Events, stats.map(|stats| stats.overrun + stats.dropped_events).sum(), buffers_full);
        link.loss(LossKind::FileBytes, self.description.bytes_left_out, budget_used);
        std::mem::take(&mut self.description)
    }
}
