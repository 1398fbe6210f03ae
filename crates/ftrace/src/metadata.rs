//! What must travel with the raw pages so that they can be decoded elsewhere.

use std::collections::HashSet;

use crate::byte_order::ByteOrder;
use crate::cmdlines::CommandLines;
use crate::cpu_stats::CpuStats;
use crate::format::{EventFormat, EventFormats};
use crate::header::PageLayout;
use crate::kernel_symbols::KernelSymbols;
use crate::printk_formats::PrintkFormats;

/// The texts of the recording machine's tracefs, as they were read there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MetadataText {
    /// `events/header_page`.
    pub header_page: String,
    /// `events/header_event`.
    pub header_event: String,
    /// (system, text of `events/SYSTEM/NAME/format`), the system `ftrace` among them.
    pub event_formats: Vec<(String, String)>,
    /// `saved_cmdlines`.
    pub saved_cmdlines: String,
    /// `printk_formats`.
    pub printk_formats: String,
    /// Lines of `/proc/kallsyms`; may be empty.
    pub kallsyms: String,
}

/// The same, understood.
#[derive(Clone, Debug)]
pub struct Metadata {
    pub layout: PageLayout,
    pub formats: EventFormats,
    pub command_lines: CommandLines,
    pub printk_formats: PrintkFormats,
    pub symbols: KernelSymbols,
    /// Name of the trace clock (`mono`, `local` ...); empty when the trace does not say.
    pub clock: String,
    /// (CPU, counters) when the trace has them.
    pub cpu_stats: Vec<(u32, CpuStats)>,
    /// `uname` of the recording machine; empty when the trace does not say.
    pub uname: String,
    /// Name and version of the program that wrote the trace; empty when the trace does not say.
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
    /// Understands the texts. Formats that make no sense are left out.
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

    /// Keeps only the lines of `kallsyms` that name one of `addresses` or the symbol right below it.
    /// A full kernel table is 10 MB; the functions of one trace are a few hundred lines.
    pub fn kallsyms_excerpt(kallsyms: &str, addresses: &[u64]) -> String {
        let symbols = KernelSymbols::parse(kallsyms);
        let wanted: HashSet<u64> = addresses
            .iter()
            .filter_map(|&address| symbols.find(address).map(|(_, distance)| address - distance))
            .collect();
        let mut excerpt = String::new();
        for line in kallsyms.lines() {
            let address = line.split_whitespace().next().and_then(|word| u64::from_str_radix(word, 16).ok());
            if address.is_some_and(|address| wanted.contains(&address)) {
                excerpt.push_str(line);
                excerpt.push('\n');
            }
        }
        excerpt
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn excerpt_keeps_the_functions_asked_for() {
        let kallsyms = "1000 T a\n2000 t b [mod]\n3000 T c\n";
        assert_eq!(MetadataText::kallsyms_excerpt(kallsyms, &[0x1004, 0x3000, 1]), "1000 T a\n3000 T c\n");
    }
}
