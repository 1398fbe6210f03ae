//! Records of the kernel's events that a recording has in another form than the kernel's, as a trace.dat.
//!
//! [`event`] has the events whose fields are read, [`layout`] how their records are laid out, [`contexts`] the interrupts around them, where the
//! recording does not have the flags, and [`functions`] addresses for names.

pub mod contexts;
pub mod event;
pub mod functions;
pub mod layout;

use crate::problem::Refusal;
use event::is_vector;
use ftrace::byte_order::ByteOrder;
use ftrace::header::PageLayout;
use ftrace::metadata::MetadataText;
use ftrace::page::RawRecord;
use ftrace::page::writer::PageWriter;
use ftrace::trace_dat::{CpuBytes, TraceDat};
use functions::Functions;
use layout::Layout;
use std::collections::BTreeMap;

/// More CPUs than any machine of Linux has.
pub const CPUS_MAX: u32 = 8192;

/// Pages that sparse events may take beside twice the size of the recording, as its records are about as large as their text.
const SPARSE_BYTES_MAX: usize = 48 << 20;

/// Pages of records: each loss and each pause begins one, so that a hostile recording could fill a page with each of its lines.
#[derive(Debug)]
pub struct Room {
    bytes: usize,
}

impl Room {
    pub fn of(recording_bytes: usize) -> Self {
        Self { bytes: recording_bytes.saturating_mul(2).saturating_add(SPARSE_BYTES_MAX) }
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
        let (cpus, layouts, functions) = Default::default();
        Self { room, cpus, layouts, functions, unreadable: 0 }
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
        match self.payload(place, name, fill) {
            Some(payload) => {
                self.write(place.cpu, |pages| pages.push(RawRecord { ts_ns: place.ts_ns, payload: &payload }));
            }
            None => {
                self.unreadable += 1;
                self.lose(place.cpu, Some(1));
            }
        }
    }

    fn write(&mut self, cpu: u32, write: impl FnOnce(&mut PageWriter)) {
        let new = || PageWriter::new(PageLayout::bits64(ByteOrder::Little));
        self.room.write(self.cpus.entry(cpu).or_insert_with(new), write);
    }

    fn payload(
        &mut self,
        place: Place,
        name: &str,
        fill: impl FnOnce(&Layout, &mut Functions, &mut Vec<u8>) -> Option<()>,
    ) -> Option<Vec<u8>> {
        if !self.layouts.contains_key(name) {
            // A recording with more kinds of events than the kernel has is none of the kernel's.
            let number = u16::try_from(self.layouts.len() + 1).ok().filter(|number| *number < u16::MAX)?;
            self.layouts.insert(name.to_owned(), Layout::of(number, name));
        }
        let layout = self.layouts.get(name)?;
        let mut payload = layout.head(place.flags, place.preempt_depth, place.tid);
        fill(layout, &mut self.functions, &mut payload)?;
        if is_vector(name) {
            payload.extend(0i64.to_le_bytes());
        }
        Some(payload)
    }

    /// The trace.dat.
    ///
    /// # Errors
    /// [`Refusal::TooSparse`].
    pub fn finish(self, about: About<'_>) -> Result<Vec<u8>, Refusal> {
        self.room.check()?;
        let layout = PageLayout::bits64(ByteOrder::Little);
        let formats = self.layouts.iter().map(|(name, layout)| (layout.system.into(), layout.text(name))).collect();
        let pages: Vec<_> = self.cpus.into_iter().map(|(cpu, writer)| (cpu, writer.finish())).collect();
        Ok(trace_dat(layout, formats, self.functions.text(), &pages, about))
    }
}

/// The trace.dat of pages by CPU.
pub fn trace_dat(
    layout: PageLayout,
    event_formats: Vec<(String, String)>,
    kallsyms: String,
    pages: &[(u32, Vec<u8>)],
    about: About<'_>,
) -> Vec<u8> {
    let metadata = MetadataText {
        header_page: layout.text(),
        header_event: "# compressed entry header\n".into(),
        event_formats,
        kallsyms,
        saved_cmdlines: about.saved_cmdlines.into(),
        ..MetadataText::default()
    };
    let trace = TraceDat {
        metadata: &metadata,
        layout,
        clock: about.clock,
        uname: about.uname,
        version: about.version,
        cpu_count: pages.iter().map(|(cpu, _)| cpu + 1).max().unwrap_or(1),
        cpus: pages.iter().map(|(cpu, pages)| CpuBytes { cpu: *cpu, pages, stats: None }).collect(),
    };
    trace.to_vec()
}
