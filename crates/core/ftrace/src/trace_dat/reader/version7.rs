//! Version 7: sections anywhere in the file, found through lists of options.

use std::borrow::Cow;
use std::cell::Cell;

use super::bytes::Bytes;
use super::compression::{Compression, ENDS_EARLY};
use super::pages::spend;
use super::places::{Place, PlacedBuffer};
use super::{Gap, TraceFile};
use crate::trace_dat::layout::id;

const FLAG_COMPRESSED: u16 = 1;
/// More lists of options than any file has.
const OPTION_LISTS_MAX: usize = 1000;
/// A few hundred bytes per CPU and buffer are usual.
const OPTION_BYTES_MAX: u64 = 8 << 20;
/// A file has six; a hostile one with thousands must not take hours.
const TEXT_SECTIONS_MAX: usize = 100;
/// Most of it is the names of all kernel functions, about 10 MB.
const TEXT_BYTES_MAX: u64 = 256 << 20;
const TOO_MUCH: &str = "longer than any file needs";

struct Section<'a> {
    number: u16,
    content: Cow<'a, [u8]>,
}

/// The metadata, where the pages of the buffers are, and how pages are compressed.
pub(super) fn read<'a>(trace: &mut TraceFile<'a>, bytes: &mut Bytes<'a>) -> Option<(Vec<PlacedBuffer>, Compression)> {
    let (Some(name), Some(_version)) = (bytes.text(), bytes.text()) else {
        trace.gaps.push(Gap::missing("name of the compression", 1));
        return None;
    };
    let compression = Compression::named(&name);
    let first = bytes.u64();
    let first = trace.or_missing(first, "offset of the options")?;
    let sections_at = bytes.position();

    let mut reader = Reader {
        file: bytes.clone(),
        compression,
        buffers: Vec::new(),
        understood: Vec::new(),
        text_bytes_left: Cell::new(TEXT_BYTES_MAX),
        option_bytes_left: Cell::new(OPTION_BYTES_MAX),
    };
    let mut options_at = first;
    let mut lists = Vec::new();
    for _ in 0..OPTION_LISTS_MAX {
        if lists.contains(&options_at) {
            trace.gaps.push(Gap::Corrupt { part: "options".to_owned(), why: "one list of them comes after itself" });
            break;
        }
        lists.push(options_at);
        match reader.options(trace, options_at) {
            Some(0) => return Some(reader.finish(trace)),
            Some(next) => options_at = next,
            None => break,
        }
    }
    // Without options the sections can still be read sequentially.
    reader.scan(trace, sections_at);
    Some(reader.finish(trace))
}

struct Reader<'a> {
    file: Bytes<'a>,
    compression: Compression,
    /// Data of the options that name buffers: read last, because the layout of pages is in another section.
    buffers: Vec<Vec<u8>>,
    /// Offsets of the metadata sections read so far.
    understood: Vec<u64>,
    /// Remaining size of sections of either kind, so that a small file whose sections overlap, or are compressed,
    /// cannot fill the memory.
    text_bytes_left: Cell<u64>,
    option_bytes_left: Cell<u64>,
}

impl<'a> Reader<'a> {
    /// Reads one list of options; returns the offset of the next, or `None` if it is unknown.
    fn options(&mut self, trace: &mut TraceFile<'a>, offset: u64) -> Option<u64> {
        let Some(section) = self.section(trace, offset, &self.option_bytes_left) else {
            trace.gaps.push(Gap::missing("options", 1));
            return None;
        };
        if section.number != id::OPTIONS {
            trace.gaps.push(Gap::Corrupt { part: "options".to_owned(), why: "another section lies where they should" });
            return None;
        }
        let mut options = Bytes::new(&*section.content, self.file.order);
        loop {
            let (number, size) = (options.u16(), options.u32());
            let data = size.and_then(|size| options.take(u64::from(size)));
            let (Some(number), Some(data)) = (number, data) else {
                trace.gaps.push(Gap::missing("options", 1));
                return None;
            };
            let order = self.file.order;
            match number {
                id::DONE => return Some(order.u64_at(&data, 0).unwrap_or(0)),
                id::BUFFER => self.buffers.push(data.into_owned()),
                id::HEADER_INFO..=id::COMMAND_LINES => match order.u64_at(&data, 0) {
                    Some(offset) => self.text_section(trace, offset),
                    None => trace.gaps.push(Gap::Corrupt { part: "options".to_owned(), why: "an offset cut short" }),
                },
                _ => trace.read_option(number, &data),
            }
        }
    }

    fn text_section(&mut self, trace: &mut TraceFile<'a>, offset: u64) {
        if self.understood.len() >= TEXT_SECTIONS_MAX || self.understood.contains(&offset) {
            return;
        }
        self.understood.push(offset);
        let Some(section) = self.section(trace, offset, &self.text_bytes_left) else {
            trace.gaps.push(Gap::missing(format!("section at offset {offset}"), 1));
            return;
        };
        self.understand(trace, &section);
    }

    fn understand(&self, trace: &mut TraceFile<'a>, section: &Section<'_>) {
        let mut bytes = Bytes::new(&*section.content, self.file.order);
        // A part that ended early has added its gap.
        let _ = match section.number {
            id::HEADER_INFO => trace.read_headers(&mut bytes),
            id::FTRACE_FORMATS => trace.read_ftrace_formats(&mut bytes),
            id::EVENT_FORMATS => trace.read_event_formats(&mut bytes),
            id::KALLSYMS => trace.read_kallsyms(&mut bytes),
            id::PRINTK_FORMATS => trace.read_printk_formats(&mut bytes),
            id::COMMAND_LINES => trace.read_command_lines(&mut bytes),
            _ => None,
        };
    }

    /// The section at an offset, decompressed, as far as the file extends; `None` if its header is missing.
    fn section(&self, trace: &mut TraceFile<'a>, offset: u64, bytes_left: &Cell<u64>) -> Option<Section<'a>> {
        let mut bytes = self.file.at(offset);
        let (number, flags, _name, size) = (bytes.u16()?, bytes.u16()?, bytes.u32()?, bytes.u64()?);
        let part = || format!("section {number}");
        if !spend(bytes_left, size.min(bytes.size() - bytes.position())) {
            trace.gaps.push(Gap::Corrupt { part: part(), why: TOO_MUCH });
            return Some(Section { number, content: Cow::Borrowed(&[]) });
        }
        if flags & FLAG_COMPRESSED == 0 {
            return Some(Section { number, content: bytes.take_up_to(size).0 });
        }
        // The chunk contains its own length.
        let end = bytes.position().saturating_add(size);
        let content = match self.compression.chunk(&mut bytes, bytes_left.get()) {
            Ok(_) if bytes.position() > end => Err(ENDS_EARLY),
            unpacked => unpacked,
        };
        let content = content.unwrap_or_else(|why| {
            trace.gaps.push(self.compression.gap(part(), why));
            Vec::new()
        });
        spend(bytes_left, content.len() as u64);
        Some(Section { number, content: Cow::Owned(content) })
    }

    fn scan(&mut self, trace: &mut TraceFile<'a>, from: u64) {
        let mut offset = from;
        loop {
            let mut bytes = self.file.at(offset);
            let (Some(number), Some(_), Some(_), Some(size)) = (bytes.u16(), bytes.u16(), bytes.u32(), bytes.u64())
            else {
                return;
            };
            let known = [id::OPTIONS, id::BUFFER, id::STRINGS].contains(&number)
                || (id::HEADER_INFO..=id::COMMAND_LINES).contains(&number);
            if !known {
                return;
            }
            if number == id::BUFFER && self.buffers.is_empty() {
                trace.gaps.push(Gap::Corrupt { part: "pages".to_owned(), why: "their CPU is unknown" });
            }
            if (id::HEADER_INFO..=id::COMMAND_LINES).contains(&number) {
                self.text_section(trace, offset);
            }
            offset = bytes.position().saturating_add(size);
        }
    }

    fn finish(self, trace: &mut TraceFile<'a>) -> (Vec<PlacedBuffer>, Compression) {
        let mut placed = Vec::new();
        for data in &self.buffers {
            match self.buffer(trace, data) {
                Some(buffer) => placed.push(buffer),
                None => trace.gaps.push(Gap::Corrupt { part: "buffer option".to_owned(), why: "cut short" }),
            }
        }
        (placed, self.compression)
    }

    fn buffer(&self, trace: &mut TraceFile<'a>, data: &[u8]) -> Option<PlacedBuffer> {
        let mut option = Bytes::new(data, self.file.order);
        let section_at = option.u64()?;
        let (name, clock) = (option.text()?, TraceFile::clock_name(&option.text()?));
        let layout = trace.metadata.layout.with_page_size(option.u32()? as usize);
        let compressed = {
            let mut section = self.file.at(section_at);
            section.skip(2);
            section.u16().unwrap_or(0) & FLAG_COMPRESSED != 0
        };
        let mut cpus = Vec::new();
        for _ in 0..option.u32()? {
            let (Some(cpu), Some(offset), Some(size)) = (option.u32(), option.u64(), option.u64()) else {
                trace.gaps.push(Gap::missing("places of the pages of some CPUs", 1));
                break;
            };
            cpus.push(Place { cpu, offset, size, is_packed: compressed && size > 0 });
        }
        Some(PlacedBuffer { name, clock, layout, cpus })
    }
}
