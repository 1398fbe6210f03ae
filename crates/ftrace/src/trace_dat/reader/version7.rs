//! Version 7: sections anywhere in the file, found through lists of options.

use std::borrow::Cow;
use std::cell::Cell;

use super::bytes::Bytes;
use super::compression::Compression;
use super::{Buffer, CpuPages, Gap, Span, TraceFile, borrow_pages};
use crate::header::PageLayout;
use crate::trace_dat::layout::id;

const FLAG_COMPRESSED: u16 = 1;
/// More lists of options than any file has; a loop of them ends here.
const OPTION_LISTS_MAX: usize = 1000;
/// A file has six; a hostile one that names thousands must not take hours.
const TEXT_SECTIONS_MAX: usize = 100;

struct Section<'a> {
    number: u16,
    content: Cow<'a, [u8]>,
}

pub(super) fn read<'a>(trace: &mut TraceFile<'a>, bytes: &mut Bytes<'a>, span: Span) {
    let (Some(name), Some(_version)) = (bytes.text(), bytes.text()) else {
        trace.gaps.push(Gap::missing("name of the compression", 1));
        return;
    };
    let compression = Compression::named(&name);
    let first = bytes.u64();
    let Some(first) = trace.or_missing(first, "offset of the options") else { return };
    let sections_at = bytes.position() as u64;

    // Traces shrink to a tenth as a rule, nearly empty pages to a hundredth.
    let plain_bytes_left = Cell::new((256 << 20) + 256 * bytes.whole().len() as u64);
    let mut reader =
        Reader { file: *bytes, compression, span, buffers: Vec::new(), understood: Vec::new(), plain_bytes_left };
    let mut options_at = first;
    for _ in 0..OPTION_LISTS_MAX {
        match reader.options(trace, options_at) {
            Some(0) => return reader.finish(trace),
            Some(next) => options_at = next,
            None => break,
        }
    }
    // Without options the sections still say what they are, one after the other.
    reader.scan(trace, sections_at);
    reader.finish(trace);
}

struct Reader<'a> {
    file: Bytes<'a>,
    compression: Compression,
    span: Span,
    /// Data of the options that name buffers: read last, since the layout of pages is in another section.
    buffers: Vec<Vec<u8>>,
    /// Offsets of the metadata sections read so far.
    understood: Vec<u64>,
    /// Bytes that may still come out of compressed ones, so that a small file cannot fill the memory.
    plain_bytes_left: Cell<u64>,
}

impl<'a> Reader<'a> {
    /// One list of options; answers the offset of the next, or `None` when there is no telling.
    fn options(&mut self, trace: &mut TraceFile<'a>, offset: u64) -> Option<u64> {
        let Some(section) = self.section(trace, offset) else {
            trace.gaps.push(Gap::missing("options", 1));
            return None;
        };
        if section.number != id::OPTIONS {
            trace.gaps.push(Gap::Corrupt { part: "options".to_owned(), why: "another section lies where they should" });
            return None;
        }
        let mut options = Bytes::new(&section.content, self.file.order);
        loop {
            let (number, size) = (options.u16(), options.u32());
            let data = size.and_then(|size| options.take(u64::from(size)));
            let (Some(number), Some(data)) = (number, data) else {
                trace.gaps.push(Gap::missing("options", 1));
                return None;
            };
            let order = self.file.order;
            match number {
                id::DONE => return Some(order.u64_at(data, 0).unwrap_or(0)),
                id::BUFFER => self.buffers.push(data.to_vec()),
                id::HEADER_INFO..=id::COMMAND_LINES => match order.u64_at(data, 0) {
                    Some(offset) => self.text_section(trace, offset),
                    None => trace.gaps.push(Gap::Corrupt { part: "options".to_owned(), why: "an offset cut short" }),
                },
                _ => trace.read_option(number, data),
            }
        }
    }

    fn text_section(&mut self, trace: &mut TraceFile<'a>, offset: u64) {
        if self.understood.len() >= TEXT_SECTIONS_MAX || self.understood.contains(&offset) {
            return;
        }
        self.understood.push(offset);
        let Some(section) = self.section(trace, offset) else {
            trace.gaps.push(Gap::missing(format!("section at offset {offset}"), 1));
            return;
        };
        self.understand(trace, &section);
    }

    fn understand(&self, trace: &mut TraceFile<'a>, section: &Section<'_>) {
        let mut bytes = Bytes::new(&section.content, self.file.order);
        // A part that ends early has named its gap.
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

    /// The section at an offset, decompressed, as far as the file reaches; `None` when its header is not there.
    fn section(&self, trace: &mut TraceFile<'a>, offset: u64) -> Option<Section<'a>> {
        let mut bytes = self.file.at(offset);
        let (number, flags, _name, size) = (bytes.u16()?, bytes.u16()?, bytes.u32()?, bytes.u64()?);
        let (raw, _missing) = bytes.take_up_to(size);
        if flags & FLAG_COMPRESSED == 0 {
            return Some(Section { number, content: Cow::Borrowed(raw) });
        }
        let mut chunk = Bytes::new(raw, self.file.order);
        let content = match self.chunk(&mut chunk) {
            Ok(content) => content,
            Err(why) => {
                trace.gaps.push(self.compression.gap(format!("section {number}"), why));
                Vec::new()
            }
        };
        Some(Section { number, content: Cow::Owned(content) })
    }

    fn chunk(&self, bytes: &mut Bytes<'_>) -> Result<Vec<u8>, &'static str> {
        let plain = self.compression.chunk(bytes, self.plain_bytes_left.get())?;
        self.plain_bytes_left.set(self.plain_bytes_left.get() - plain.len() as u64);
        Ok(plain)
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
                trace.gaps.push(Gap::Corrupt { part: "pages".to_owned(), why: "nothing says which CPU they are of" });
            }
            if (id::HEADER_INFO..=id::COMMAND_LINES).contains(&number) {
                self.text_section(trace, offset);
            }
            offset = (bytes.position() as u64).saturating_add(size);
        }
    }

    fn finish(self, trace: &mut TraceFile<'a>) {
        for data in &self.buffers {
            match self.buffer(trace, data) {
                Some(buffer) => trace.buffers.push(buffer),
                None => trace.gaps.push(Gap::Corrupt { part: "buffer option".to_owned(), why: "cut short" }),
            }
        }
    }

    fn buffer(&self, trace: &mut TraceFile<'a>, data: &[u8]) -> Option<Buffer<'a>> {
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
            cpus.push(if compressed && size > 0 {
                self.compressed_pages(trace, &layout, cpu, offset)
            } else {
                borrow_pages(self.file.whole(), &mut trace.gaps, &layout, self.span, cpu, offset, size)
            });
        }
        Some(Buffer { name, clock, layout, cpus })
    }

    fn compressed_pages(&self, trace: &mut TraceFile<'a>, layout: &PageLayout, cpu: u32, offset: u64) -> CpuPages<'a> {
        let part = format!("pages of CPU {cpu}");
        let mut bytes = self.file.at(offset);
        let mut pages = Vec::new();
        let Some(chunks) = bytes.u32() else {
            trace.gaps.push(Gap::missing(part, 4));
            return CpuPages { cpu, pages: Cow::Owned(pages) };
        };
        for _ in 0..chunks {
            match self.chunk(&mut bytes) {
                Ok(chunk) => {
                    pages.extend_from_slice(crate::trace_dat::cut_pages(&chunk, layout, self.span.0, self.span.1))
                }
                Err(why) => {
                    trace.gaps.push(self.compression.gap(part, why));
                    break;
                }
            }
        }
        CpuPages { cpu, pages: Cow::Owned(pages) }
    }
}
