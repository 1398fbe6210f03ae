//! Reads trace.dat versions 6 and 7.
//!
//! Opening never fails. Missing, invalid or unsupported parts are reported in [`TraceFile::gaps`]; the rest is
//! available. In a file with a compression whose cargo feature is off, metadata and pages are reported as gaps.

mod bytes;
mod compression;
mod gap;
mod pages;
mod places;
mod text_sections;
mod tracing_data;
mod version6;
mod version7;

use std::borrow::Cow;

pub use gap::Gap;
pub use tracing_data::tracing_data;

pub(super) use self::bytes::Bytes;
pub(super) use self::compression::Compression;
use self::pages::PageSpan;
pub(super) use self::pages::{Chunk, PageReader};
pub(super) use self::places::{Place, PlacedBuffer};
use super::layout::MAGIC;
use super::records::{CpuRecords, Merged};
use super::source::Source;
use crate::byte_order::ByteOrder;
use crate::header::PageLayout;
use crate::metadata::Metadata;

/// A trace.dat file. Pages of an uncompressed file in memory are borrowed from its bytes, which may be mapped.
#[derive(Clone, Debug)]
pub struct TraceFile<'a> {
    /// 6 or 7; 0 if the bytes are not a trace.dat file.
    pub version: u32,
    pub metadata: Metadata,
    /// The top-level buffer first, usually the only one.
    pub buffers: Vec<Buffer<'a>>,
    /// Unreadable parts, in file order.
    pub gaps: Vec<Gap>,
}

/// The pages of one ring buffer: the top-level one or an instance.
#[derive(Clone, Debug)]
pub struct Buffer<'a> {
    /// Empty for the top-level buffer.
    pub name: String,
    /// Trace clock; empty if unknown.
    pub clock: String,
    pub layout: PageLayout,
    pub cpus: Vec<CpuPages<'a>>,
}

/// The consecutive pages of one CPU.
#[derive(Clone, Debug)]
pub struct CpuPages<'a> {
    pub cpu: u32,
    pub pages: Cow<'a, [u8]>,
}

/// The requested span of time (ns, both ends inclusive).
type Span = (u64, u64);

/// A file whose metadata are read and whose pages are not.
pub(in crate::trace_dat) struct Opened<'a> {
    /// Without buffers.
    pub trace: TraceFile<'a>,
    pub placed: Vec<PlacedBuffer>,
    pub compression: Compression,
    pub bytes: Bytes<'a>,
}

impl<'a> Opened<'a> {
    pub fn of(file: impl Into<Source<'a>>) -> Opened<'a> {
        let metadata = Metadata::empty(PageLayout::bits64(ByteOrder::Little));
        let trace = TraceFile { version: 0, metadata, buffers: Vec::new(), gaps: Vec::new() };
        let (placed, compression) = (Vec::new(), Compression::Other(String::new()));
        let mut opened = Opened { trace, placed, compression, bytes: Bytes::new(file, ByteOrder::Little) };
        opened.read();
        opened
    }

    fn read(&mut self) {
        let Opened { trace, placed, compression, bytes } = self;
        if bytes.take(MAGIC.len() as u64).as_deref() != Some(MAGIC) {
            return trace.gaps.push(Gap::NotATrace);
        }
        if trace.head(bytes).is_none() {
            return trace.gaps.push(Gap::missing("head", 1));
        }
        match trace.version {
            6 => placed.extend(version6::read(trace, bytes)),
            7 => {
                if let Some(read) = version7::read(trace, bytes) {
                    (*placed, *compression) = read;
                }
            }
            other => trace.gaps.push(Gap::Unsupported { what: format!("version {other} of trace.dat") }),
        }
    }
}

impl<'a> TraceFile<'a> {
    pub fn parse(file: impl Into<Source<'a>>) -> TraceFile<'a> {
        TraceFile::parse_window(file, 0, u64::MAX)
    }

    /// Keeps only the pages that overlap `from_ns..=to_ns`. Of a file that is not in memory, only those and the
    /// metadata are read; of a compressed file, only those and one chunk are in memory at a time. If a CPU has more
    /// than 1 MiB there, its pages are assumed to be in chronological order.
    pub fn parse_window(file: impl Into<Source<'a>>, from_ns: u64, to_ns: u64) -> TraceFile<'a> {
        let mut opened = Opened::of(file);
        let reader = PageReader::new(opened.bytes.clone(), opened.compression);
        let trace = &mut opened.trace;
        for PlacedBuffer { name, clock, layout, cpus } in opened.placed {
            let wanted = PageSpan { layout, span: (from_ns, to_ns) };
            let cpus = cpus.iter().map(|place| reader.pages(&mut trace.gaps, &wanted, place)).collect();
            trace.buffers.push(Buffer { name, clock, layout, cpus });
        }
        trace.gaps.extend(opened.bytes.failed().map(|error| Gap::Unreadable { error }));
        // The top-level buffer may come last; if it is empty, it is not the main one.
        trace.buffers.sort_by_key(|buffer| buffer.is_empty());
        if trace.metadata.clock.is_empty()
            && let Some(buffer) = trace.buffers.first()
        {
            trace.metadata.clock = buffer.clock.clone();
        }
        opened.trace
    }

    fn head(&mut self, bytes: &mut Bytes<'a>) -> Option<()> {
        self.version = bytes.text()?.parse().unwrap_or(u32::MAX);
        self.layout_of_head(bytes)
    }

    /// Byte order and sizes, which follow the version.
    fn layout_of_head(&mut self, bytes: &mut Bytes<'a>) -> Option<()> {
        let order = if bytes.u8()? == 0 { ByteOrder::Little } else { ByteOrder::Big };
        bytes.order = order;
        let long_size = bytes.u8()?;
        let page_size = bytes.u32()?;
        let layout = if long_size == 4 { PageLayout::bits32(order) } else { PageLayout::bits64(order) };
        self.metadata.layout = layout.with_page_size(page_size as usize);
        Some(())
    }

    fn main(&self) -> Option<&Buffer<'a>> {
        self.buffers.first()
    }

    /// Layout of the pages of the main buffer.
    pub fn layout(&self) -> PageLayout {
        self.main().map_or(self.metadata.layout, |buffer| buffer.layout)
    }

    /// CPUs of the main buffer: the top-level one unless it is empty.
    pub fn cpus(&self) -> Vec<u32> {
        self.main().map(Buffer::cpus).unwrap_or_default()
    }

    /// Items of one CPU of the main buffer; none for a missing CPU.
    pub fn cpu_records(&self, cpu: u32) -> CpuRecords<'_> {
        let pages = self.main().map_or(&[][..], |buffer| buffer.cpu_pages(cpu));
        CpuRecords::new(cpu, pages, &self.layout())
    }

    /// Items of all CPUs of the main buffer in chronological order.
    pub fn merged(&self) -> Merged<'_> {
        self.main().map_or_else(|| Merged::new([]), Buffer::merged)
    }

    /// The same for `from_ns..=to_ns`; other pages are not read.
    pub fn window(&self, from_ns: u64, to_ns: u64) -> Merged<'_> {
        self.main().map_or_else(|| Merged::new([]), |buffer| buffer.window(from_ns, to_ns))
    }
}

impl<'a> Buffer<'a> {
    pub fn cpus(&self) -> Vec<u32> {
        self.cpus.iter().map(|cpu| cpu.cpu).collect()
    }

    pub fn is_empty(&self) -> bool {
        self.cpus.iter().all(|cpu| cpu.pages.is_empty())
    }

    /// Empty for a missing CPU.
    pub fn cpu_pages(&self, cpu: u32) -> &[u8] {
        self.cpus.iter().find(|pages| pages.cpu == cpu).map_or(&[], |pages| &pages.pages)
    }

    pub fn merged(&self) -> Merged<'_> {
        Merged::new(self.cpus.iter().map(|cpu| CpuRecords::new(cpu.cpu, &cpu.pages, &self.layout)))
    }

    pub fn window(&self, from_ns: u64, to_ns: u64) -> Merged<'_> {
        Merged::new(self.windows(from_ns, to_ns))
    }

    /// The same by CPU.
    pub fn windows(&self, from_ns: u64, to_ns: u64) -> impl Iterator<Item = CpuRecords<'_>> {
        self.cpus.iter().map(move |cpu| CpuRecords::window(cpu.cpu, &cpu.pages, &self.layout, from_ns, to_ns))
    }
}
