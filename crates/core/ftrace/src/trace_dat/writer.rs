//! Writes trace.dat version 7, uncompressed.
//!
//! Pages come last, so that a file truncated by a power failure still contains all metadata. (Layout: trace-cmd's
//! `trace-cmd.dat.v7` manual page; its advice to write an option 15 is not followed, because trace-cmd itself reports
//! that one as unknown.)

use std::io::{self, Write};

use super::layout::{MAGIC, id};
use crate::byte_order::ByteOrder;
use crate::cpu_stats::CpuStats;
use crate::header::PageLayout;
use crate::metadata::MetadataText;

/// Consecutive sub-buffers of one CPU.
#[derive(Clone, Copy, Debug)]
pub struct CpuBytes<'a> {
    pub cpu: u32,
    pub pages: &'a [u8],
    pub stats: Option<CpuStats>,
}

/// One buffer of one machine, ready to be written. Empty texts are left out.
#[derive(Clone, Debug)]
pub struct TraceDat<'a> {
    pub metadata: &'a MetadataText,
    /// Layout of the recording machine; its page size is that of the sub-buffers.
    pub layout: PageLayout,
    /// Name of the trace clock, usually `mono`.
    pub clock: &'a str,
    /// Output of `uname -a` on the recording machine.
    pub uname: &'a str,
    /// Name and version of the recording program.
    pub version: &'a str,
    /// Number of CPUs of the machine, including those without pages.
    pub cpu_count: u32,
    pub cpus: Vec<CpuBytes<'a>>,
}

impl TraceDat<'_> {
    /// The whole file.
    pub fn to_vec(&self) -> Vec<u8> {
        let mut file = self.head();
        for cpu in &self.cpus {
            file.extend_from_slice(cpu.pages);
            file.resize(self.aligned(file.len()), 0);
        }
        file
    }

    /// The same in pieces, without a second copy of the pages in memory.
    pub fn write_to(&self, sink: &mut impl Write) -> io::Result<()> {
        sink.write_all(&self.head())?;
        let padding = vec![0; self.layout.page_size];
        for cpu in &self.cpus {
            sink.write_all(cpu.pages)?;
            sink.write_all(&padding[..self.aligned(cpu.pages.len()) - cpu.pages.len()])?;
        }
        Ok(())
    }

    /// Everything before the first page; its length is a multiple of the page size.
    fn head(&self) -> Vec<u8> {
        let order = self.layout.byte_order;
        let mut out = Out { order, bytes: MAGIC.to_vec() };
        out.text("7");
        out.bytes.push(u8::from(order == ByteOrder::Big));
        out.bytes.push(self.layout.commit_size as u8);
        out.u32(self.layout.page_size);
        out.text("none");
        out.text("");
        let options_offset_at = out.bytes.len();
        out.u64(0);

        let mut strings = Vec::new();
        let mut sections: Vec<(u16, usize)> = Vec::new();
        for (number, name, content) in self.metadata_sections() {
            sections.push((number, out.bytes.len()));
            out.section(number, name, &mut strings, &content);
        }

        // The strings section must precede the pages but can only be written once all names are known.
        let options_at = out.bytes.len();
        let options_name = intern(&mut strings, "options");
        let buffer_name = intern(&mut strings, "buffer flyrecord");
        let strings_name = intern(&mut strings, "strings");
        let options_size = self.options(&sections, 0, 0).len();
        let strings_at = options_at + SECTION_HEADER_SIZE + options_size;
        let buffer_at = strings_at + SECTION_HEADER_SIZE + strings.len();
        let pages_at = self.aligned(buffer_at + SECTION_HEADER_SIZE);
        let options = self.options(&sections, buffer_at, pages_at);

        out.section_header(id::OPTIONS, options_name, options.len());
        out.bytes.extend(options);
        out.section_header(id::STRINGS, strings_name, strings.len());
        out.bytes.extend(strings);
        let pages_size: usize = self.cpus.iter().map(|cpu| self.aligned(cpu.pages.len())).sum();
        out.section_header(id::BUFFER, buffer_name, pages_at - buffer_at - SECTION_HEADER_SIZE + pages_size);
        out.bytes.resize(pages_at, 0);
        out.bytes[options_offset_at..options_offset_at + 8].copy_from_slice(&order.u64_bytes(options_at as u64));
        out.bytes
    }

    fn metadata_sections(&self) -> Vec<(u16, &'static str, Vec<u8>)> {
        let metadata = self.metadata;
        let content = |fill: &dyn Fn(&mut Out)| {
            let mut out = Out { order: self.layout.byte_order, bytes: Vec::new() };
            fill(&mut out);
            out.bytes
        };
        let headers = content(&|out| {
            for (name, text) in [("header_page", &metadata.header_page), ("header_event", &metadata.header_event)] {
                out.text(name);
                out.u64(text.len());
                out.bytes.extend(text.as_bytes());
            }
        });
        let formats_of = |system: &str| -> Vec<&str> {
            let formats = metadata.event_formats.iter().filter(|(owner, _)| owner == system);
            formats.map(|(_, text)| text.as_str()).collect()
        };
        let write_formats = |out: &mut Out, formats: &[&str]| {
            out.u32(formats.len());
            for text in formats {
                out.u64(text.len());
                out.bytes.extend(text.as_bytes());
            }
        };
        let ftrace = content(&|out| write_formats(out, &formats_of("ftrace")));
        let mut systems: Vec<&str> = metadata.event_formats.iter().map(|(system, _)| system.as_str()).collect();
        systems.sort_unstable();
        systems.dedup();
        systems.retain(|&system| system != "ftrace");
        let events = content(&|out| {
            out.u32(systems.len());
            for system in &systems {
                out.text(system);
                write_formats(out, &formats_of(system));
            }
        });
        let sized_32 = |text: &str| {
            content(&|out| {
                out.u32(text.len());
                out.bytes.extend(text.as_bytes());
            })
        };
        let commands = content(&|out| {
            out.u64(metadata.saved_cmdlines.len());
            out.bytes.extend(metadata.saved_cmdlines.as_bytes());
        });
        vec![
            (id::HEADER_INFO, "headers", headers),
            (id::FTRACE_FORMATS, "ftrace events", ftrace),
            (id::EVENT_FORMATS, "events format", events),
            (id::KALLSYMS, "kallsyms", sized_32(&metadata.kallsyms)),
            (id::PRINTK_FORMATS, "printk", sized_32(&metadata.printk_formats)),
            (id::COMMAND_LINES, "command lines", commands),
        ]
    }

    fn options(&self, sections: &[(u16, usize)], buffer_at: usize, pages_at: usize) -> Vec<u8> {
        let order = self.layout.byte_order;
        let mut out = Out { order, bytes: Vec::new() };
        for &(number, offset) in sections {
            out.option(number, &order.u64_bytes(offset as u64));
        }
        out.option(id::TRACE_CLOCK, &with_nul(&format!("[{}]", self.clock)));
        if !self.uname.is_empty() {
            out.option(id::UNAME, &with_nul(self.uname));
        }
        if !self.version.is_empty() {
            out.option(id::VERSION, &with_nul(self.version));
        }
        out.option(id::CPU_COUNT, &order.u32_bytes(self.cpu_count));
        for cpu in &self.cpus {
            if let Some(stats) = &cpu.stats {
                out.option(id::CPU_STAT, &with_nul(&stats_text(cpu.cpu, stats)));
            }
        }
        let mut buffer = Out { order, bytes: Vec::new() };
        buffer.u64(buffer_at);
        buffer.text("");
        buffer.text(self.clock);
        buffer.u32(self.layout.page_size);
        buffer.u32(self.cpus.len());
        let mut offset = pages_at;
        for cpu in &self.cpus {
            buffer.bytes.extend(order.u32_bytes(cpu.cpu));
            buffer.u64(offset);
            buffer.u64(cpu.pages.len());
            offset += self.aligned(cpu.pages.len());
        }
        out.option(id::BUFFER, &buffer.bytes);
        out.option(id::DONE, &order.u64_bytes(0));
        out.bytes
    }

    fn aligned(&self, offset: usize) -> usize {
        offset.next_multiple_of(self.layout.page_size.max(1))
    }
}

const SECTION_HEADER_SIZE: usize = 16;

/// Output in the byte order of the recording machine.
struct Out {
    order: ByteOrder,
    bytes: Vec<u8>,
}

impl Out {
    fn text(&mut self, text: &str) {
        self.bytes.extend(with_nul(text));
    }

    fn u32(&mut self, value: usize) {
        self.bytes.extend(self.order.u32_bytes(value as u32));
    }

    fn u64(&mut self, value: usize) {
        self.bytes.extend(self.order.u64_bytes(value as u64));
    }

    fn option(&mut self, number: u16, data: &[u8]) {
        self.bytes.extend(self.order.u16_bytes(number));
        self.u32(data.len());
        self.bytes.extend(data);
    }

    fn section_header(&mut self, number: u16, name: usize, size: usize) {
        self.bytes.extend(self.order.u16_bytes(number));
        self.bytes.extend(self.order.u16_bytes(0));
        self.u32(name);
        self.u64(size);
    }

    fn section(&mut self, number: u16, name: &str, strings: &mut Vec<u8>, content: &[u8]) {
        self.section_header(number, intern(strings, name), content.len());
        self.bytes.extend(content);
    }
}

/// Offset of the name in the strings section.
fn intern(strings: &mut Vec<u8>, name: &str) -> usize {
    let offset = strings.len();
    strings.extend(with_nul(name));
    offset
}

/// C text: anything after a NUL inside would be taken for the next field.
fn with_nul(text: &str) -> Vec<u8> {
    let mut bytes: Vec<u8> = text.bytes().take_while(|&byte| byte != 0).collect();
    bytes.push(0);
    bytes
}

fn stats_text(cpu: u32, stats: &CpuStats) -> String {
    let seconds = |ns: Option<u64>| {
        let ns = ns.unwrap_or(0);
        format!("{}.{:06}", ns / 1_000_000_000, ns % 1_000_000_000 / 1000)
    };
    format!(
        "CPU: {cpu}\nentries: {}\noverrun: {}\ncommit overrun: {}\nbytes: {}\noldest event ts: {}\nnow ts: {}\n\
         dropped events: {}\nread events: {}\n",
        stats.entries,
        stats.overrun,
        stats.commit_overrun,
        stats.bytes,
        seconds(stats.oldest_event_ts_ns),
        seconds(stats.now_ts_ns),
        stats.dropped_events,
        stats.read_events,
    )
}
