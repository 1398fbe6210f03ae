//! Records of the kernel's events that a recording has in another form than the kernel's, as pages of its ring buffer.
//!
//! [`event`] has the events whose fields are read, [`layout`] how their records are laid out, [`contexts`] the interrupts around them, where the
//! recording does not have the flags, and [`functions`] addresses for names.

pub mod contexts;
pub mod event;
pub mod functions;
pub mod layout;

use crate::problem::Refusal;
use ftrace::byte_order::ByteOrder;
use ftrace::cmdlines::CommandLines;
use ftrace::header::PageLayout;
use ftrace::metadata::{Metadata, MetadataText};
use ftrace::page::RawRecord;
use ftrace::page::writer::PageWriter;
use functions::Functions;
use layout::Layout;
use std::collections::BTreeMap;

/// More CPUs than any machine of Linux has.
pub const CPUS_MAX: u32 = 8192;

/// Pages that sparse events may take beside one and a half times the size of the recording: a record of a short line is larger than its
/// text by that.
const SPARSE_BYTES_MAX: usize = 32 << 20;

/// Pages of records: each loss and each pause begins one, so that a hostile recording could fill a page with each of its lines.
#[derive(Debug)]
pub struct Room {
    bytes: usize,
}

impl Room {
    pub fn of(recording_bytes: usize) -> Self {
        Self { bytes: (recording_bytes / 2).saturating_mul(3).saturating_add(SPARSE_BYTES_MAX) }
    }

    /// Appends to a CPU's pages while there is room.
    pub fn write(&mut self, writer: &mut PageWriter, write: impl FnOnce(&mut PageWriter)) {
        if self.bytes > 0 {
            let before = writer.bytes();
            write(writer);
            self.bytes = self.bytes.saturating_sub(writer.bytes() - before);
        }
    }

    /// # Errors
    /// [`Refusal::TooSparse`] if something had no room.
    pub fn check(&self) -> Result<(), Refusal> {
        if self.bytes > 0 { Ok(()) } else { Err(Refusal::TooSparse) }
    }
}

/// Where and when an event occurred.
#[derive(Debug, Clone, Copy)]
pub struct Place {
    pub cpu: u32,
    pub ts_ns: u64,
    pub tid: i32,
    pub flags: u8,
    pub preempt_depth: u8,
}

/// Records by CPU.
#[derive(Debug)]
pub struct Records {
    room: Room,
    cpus: BTreeMap<u32, PageWriter>,
    layouts: BTreeMap<String, Layout>,
    functions: Functions,
    /// Of the record that is being made.
    payload: Vec<u8>,
    /// Known events whose fields cannot be read; they count as lost.
    pub unreadable: u64,
}

/// The recording as a whole; texts are empty if unknown.
#[derive(Debug, Clone, Copy, Default)]
pub struct About<'a> {
    pub clock: &'a str,
    pub uname: &'a str,
    /// Of the recorder.
    pub version: &'a str,
    pub saved_cmdlines: &'a str,
}

impl Records {
    pub fn new(room: Room) -> Self {
        let (cpus, layouts, functions, payload) = Default::default();
        Self { room, cpus, layouts, functions, payload, unreadable: 0 }
    }

    /// Marks events lost before the next record of a CPU.
    pub fn lose(&mut self, cpu: u32, count: Option<u64>) {
        self.write(cpu, |pages| pages.lose(count));
    }

    /// Appends a record; `fill` appends its fields, or fails if they cannot be read.
    pub fn push(
        &mut self,
        place: Place,
        name: &str,
        fill: impl FnOnce(&Layout, &mut Functions, &mut Vec<u8>) -> Option<()>,
    ) {
        let mut payload = std::mem::take(&mut self.payload);
        payload.clear();
        match self.fill(place, name, &mut payload, fill) {
            Some(()) => {
                self.write(place.cpu, |pages| pages.push(RawRecord { ts_ns: place.ts_ns, payload: &payload }));
            }
            None => {
                self.unreadable += 1;
                self.lose(place.cpu, Some(1));
            }
        }
        self.payload = payload;
    }

    fn write(&mut self, cpu: u32, write: impl FnOnce(&mut PageWriter)) {
        let new = || PageWriter::new(PageLayout::bits64(ByteOrder::Little));
        self.room.write(self.cpus.entry(cpu).or_insert_with(new), write);
    }

    fn fill(
        &mut self,
        place: Place,
        name: &str,
        payload: &mut Vec<u8>,
        fill: impl FnOnce(&Layout, &mut Functions, &mut Vec<u8>) -> Option<()>,
    ) -> Option<()> {
        let layout = match self.layouts.get(name) {
            Some(layout) => *layout,
            None => {
                // A recording with more kinds of events than the kernel has is none of the kernel's.
                let number = u16::try_from(self.layouts.len() + 1).ok().filter(|number| *number < u16::MAX)?;
                *self.layouts.entry(name.to_owned()).or_insert(Layout::of(number, name))
            }
        };
        layout.push_head(payload, place.flags, place.preempt_depth, place.tid);
        fill(&layout, &mut self.functions, payload)?;
        if layout.is_vector {
            payload.extend(0i64.to_le_bytes());
        }
        Some(())
    }

    /// The records as a trace.
    ///
    /// # Errors
    /// [`Refusal::TooSparse`].
    pub fn finish(self, about: About<'_>) -> Result<Pages, Refusal> {
        self.room.check()?;
        let describe = |(name, layout): (&String, &Layout)| (layout.system.to_owned(), layout.text(name));
        let text = MetadataText {
            header_page: PageLayout::bits64(ByteOrder::Little).text(),
            event_formats: self.layouts.iter().map(describe).collect(),
            kallsyms: self.functions.text(),
            ..MetadataText::default()
        };
        let pages = self.cpus.into_iter().map(|(cpu, writer)| (cpu, writer.finish())).collect();
        Ok(Pages::new(text.parse(ByteOrder::Little), pages, about))
    }
}

/// Pages of the kernel's form that are in no file.
#[derive(Debug)]
pub struct Pages {
    pub metadata: Metadata,
    /// By CPU.
    pub pages: Vec<(u32, Vec<u8>)>,
}

impl Pages {
    pub fn new(mut metadata: Metadata, pages: Vec<(u32, Vec<u8>)>, about: About<'_>) -> Self {
        metadata.command_lines = CommandLines::parse(about.saved_cmdlines);
        let [clock, uname, writer] = [about.clock, about.uname, about.version].map(str::to_owned);
        Self { metadata: Metadata { clock, uname, writer, ..metadata }, pages }
    }
}
