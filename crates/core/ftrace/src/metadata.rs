//! Metadata that must accompany the raw pages so that they can be decoded elsewhere.

use crate::byte_order::ByteOrder;
use crate::cmdlines::CommandLines;
use crate::cpu_stats::CpuStats;
use crate::format::{EventFormat, EventFormats};
use crate::header::PageLayout;
use crate::kernel_symbols::KernelSymbols;
use crate::printk_formats::PrintkFormats;

/// Files of the recording machine's tracefs, as read there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MetadataText {
    /// `events/header_page`.
    pub header_page: String,
    /// `events/header_event`.
    pub header_event: String,
    /// (system, text of `events/SYSTEM/NAME/format`), including the system `ftrace`.
    pub event_formats: Vec<(String, String)>,
    /// `saved_cmdlines`.
    pub saved_cmdlines: String,
    /// `printk_formats`.
    pub printk_formats: String,
    /// Lines of `/proc/kallsyms`; may be empty.
    pub kallsyms: String,
}

/// The same, parsed.
#[derive(Clone, Debug)]
pub struct Metadata {
    pub layout: PageLayout,
    pub formats: EventFormats,
    pub command_lines: CommandLines,
    pub printk_formats: PrintkFormats,
    pub symbols: KernelSymbols,
    /// Name of the trace clock (`mono`, `local` ...); empty if the trace does not contain it.
    pub clock: String,
    /// (CPU, counters) if the trace has them.
    pub cpu_stats: Vec<(u32, CpuStats)>,
    /// `uname` of the recording machine; empty if the trace does not contain it.
    pub uname: String,
    /// Name and version of the program that wrote the trace; empty if the trace does not contain them.
    pub writer: String,
}

impl Metadata {
    pub fn empty(layout: PageLayout) -> Metadata {
        Metadata {
            layout,
            formats: EventFormats::default(),
            command_lines: CommandLines::default(),
            printk_formats: PrintkFormats::default(),
            symbols: KernelSymbols::default(),
            clock: String::new(),
            cpu_stats: Vec::new(),
            uname: String::new(),
            writer: String::new(),
        }
    }
}

impl MetadataText {
    /// Parses the texts. Invalid formats are left out.
    pub fn parse(&self, byte_order: ByteOrder) -> Metadata {
        let mut metadata = Metadata::empty(PageLayout::parse(&self.header_page, byte_order));
        for (system, text) in &self.event_formats {
            if let Some(format) = EventFormat::parse(system, text, byte_order) {
                metadata.formats.insert(format);
            }
        }
        metadata.command_lines = CommandLines::parse(&self.saved_cmdlines);
        metadata.printk_formats = PrintkFormats::parse(&self.printk_formats);
        metadata.symbols = KernelSymbols::parse(&self.kallsyms);
        metadata
    }
}
