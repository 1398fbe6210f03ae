//! The metadata that both versions store in the same form: header, formats, names and addresses.

use std::borrow::Cow;

use super::bytes::{Bytes, lossy};
use super::{Gap, TraceFile};
use crate::cmdlines::CommandLines;
use crate::cpu_stats::CpuStats;
use crate::format::EventFormat;
use crate::header::PageLayout;
use crate::kernel_symbols::KernelSymbols;
use crate::printk_formats::PrintkFormats;
use crate::trace_dat::layout::id;

/// Each function returns `None`, after adding the gap, if the bytes end within its part.
impl TraceFile<'_> {
    pub(super) fn read_headers(&mut self, bytes: &mut Bytes<'_>) -> Option<()> {
        for name in ["header_page", "header_event"] {
            let said = bytes.text();
            if said.as_deref() != Some(name) {
                self.gaps.push(Gap::Corrupt { part: name.to_owned(), why: "its name is not where it should be" });
                return None;
            }
            let text = self.sized_64(bytes, name)?;
            if name == "header_page" && !text.is_empty() {
                // The text shows the page size of the top-level buffer; the head of the file that of its own pages.
                let page_size = self.metadata.layout.page_size;
                let layout = PageLayout::parse(&text, self.metadata.layout.byte_order);
                self.metadata.layout = layout.with_page_size(page_size);
            }
        }
        Some(())
    }

    pub(super) fn read_ftrace_formats(&mut self, bytes: &mut Bytes<'_>) -> Option<()> {
        self.read_formats(bytes, "ftrace")
    }

    pub(super) fn read_event_formats(&mut self, bytes: &mut Bytes<'_>) -> Option<()> {
        for _ in 0..self.count(bytes, "event systems")? {
            let system = bytes.text();
            let system = self.or_missing(system, "name of an event system")?;
            self.read_formats(bytes, &system)?;
        }
        Some(())
    }

    fn read_formats(&mut self, bytes: &mut Bytes<'_>, system: &str) -> Option<()> {
        let part = format!("event formats of {system}");
        for _ in 0..self.count(bytes, &part)? {
            let text = self.sized_64(bytes, &part)?;
            match EventFormat::parse(system, &text, self.metadata.layout.byte_order) {
                Some(format) => self.metadata.formats.insert(format),
                None => self.gaps.push(Gap::Corrupt { part: part.clone(), why: "a format without an event number" }),
            }
        }
        Some(())
    }

    pub(super) fn read_kallsyms(&mut self, bytes: &mut Bytes<'_>) -> Option<()> {
        let text = self.sized_32(bytes, "kallsyms")?;
        self.metadata.symbols = KernelSymbols::parse(&text);
        Some(())
    }

    pub(super) fn read_printk_formats(&mut self, bytes: &mut Bytes<'_>) -> Option<()> {
        let text = self.sized_32(bytes, "printk formats")?;
        self.metadata.printk_formats = PrintkFormats::parse(&text);
        Some(())
    }

    pub(super) fn read_command_lines(&mut self, bytes: &mut Bytes<'_>) -> Option<()> {
        let text = self.sized_64(bytes, "saved command lines")?;
        self.metadata.command_lines = CommandLines::parse(&text);
        Some(())
    }

    /// Options with the same meaning in both versions.
    pub(super) fn read_option(&mut self, number: u16, data: &[u8]) {
        match number {
            id::CPU_STAT => self.read_cpu_stat(data),
            id::TRACE_CLOCK => self.metadata.clock = TraceFile::clock_name(&lossy(data)),
            id::UNAME => self.metadata.uname = lossy(data),
            id::VERSION => self.metadata.writer = lossy(data),
            // Timestamps are left in the trace clock; the user must know that.
            id::OFFSET => self.unapplied("an offset to add to the timestamps"),
            id::TIME_SHIFT => self.unapplied("a mapping from a guest's clock to its host's clock"),
            id::TSC_TO_NS => self.unapplied("a mapping from counter values to ns"),
            _ => {}
        }
    }

    fn unapplied(&mut self, what: &str) {
        let gap = Gap::Unsupported { what: what.to_owned() };
        if !self.gaps.contains(&gap) {
            self.gaps.push(gap);
        }
    }

    /// Text of the CPUSTAT option: `CPU: N` and the kernel's counters.
    fn read_cpu_stat(&mut self, data: &[u8]) {
        let text = lossy(data);
        let cpu = text.lines().find_map(|line| line.trim().strip_prefix("CPU:")?.trim().parse().ok());
        if let Some(cpu) = cpu {
            self.metadata.cpu_stats.push((cpu, CpuStats::parse(&text)));
        }
    }

    /// `local global [mono]` or just `mono`.
    pub(super) fn clock_name(text: &str) -> String {
        let chosen = text.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map(|(name, _)| name);
        chosen.unwrap_or(text).trim().to_owned()
    }

    pub(super) fn or_missing<T>(&mut self, value: Option<T>, part: &str) -> Option<T> {
        if value.is_none() {
            self.gaps.push(Gap::missing(part, 1));
        }
        value
    }

    fn count(&mut self, bytes: &mut Bytes<'_>, part: &str) -> Option<u32> {
        let count = bytes.u32();
        self.or_missing(count, part)
    }

    fn sized_64<'b>(&mut self, bytes: &mut Bytes<'b>, part: &str) -> Option<Cow<'b, str>> {
        let size = bytes.u64();
        self.sized(bytes, size, part)
    }

    fn sized_32<'b>(&mut self, bytes: &mut Bytes<'b>, part: &str) -> Option<Cow<'b, str>> {
        let size = bytes.u32().map(u64::from);
        self.sized(bytes, size, part)
    }

    fn sized<'b>(&mut self, bytes: &mut Bytes<'b>, size: Option<u64>, part: &str) -> Option<Cow<'b, str>> {
        let size = self.or_missing(size, part)?;
        let (text, missing) = bytes.take_up_to(size);
        if missing > 0 {
            self.gaps.push(Gap::missing(part, missing));
            // Truncated names and addresses are still usable; a truncated format is not.
            return (!part.starts_with("event formats")).then(|| text_of(text));
        }
        Some(text_of(text))
    }
}

/// Text up to its NUL, if it has one, without a second copy of a table of MBs.
fn text_of(bytes: Cow<'_, [u8]>) -> Cow<'_, str> {
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    match bytes {
        Cow::Borrowed(bytes) => String::from_utf8_lossy(&bytes[..end]),
        Cow::Owned(mut bytes) => {
            bytes.truncate(end);
            Cow::Owned(String::from_utf8(bytes).unwrap_or_else(|error| lossy(error.as_bytes())))
        }
    }
}
