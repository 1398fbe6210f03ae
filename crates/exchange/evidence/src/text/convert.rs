//! Makes a trace.dat of the lines of a text.

mod functions;
mod layout;

use super::contexts::Contexts;
use super::event::{KNOWN, Kind, Known, is_vector, values};
use super::line::Line;
use archive::trace_event::flag;
use ftrace::byte_order::ByteOrder;
use ftrace::header::PageLayout;
use ftrace::latency_trace::Flags;
use ftrace::metadata::MetadataText;
use ftrace::page::RawRecord;
use ftrace::page::writer::PageWriter;
use ftrace::trace_dat::{CpuBytes, TraceDat};
use functions::Functions;
use layout::Layout;
use std::collections::BTreeMap;

/// More CPUs than any machine of Linux has.
const CPUS_MAX: u32 = 8192;
/// A text that nobody reads is cut.
const TEXT_BYTES_MAX: usize = 500;

/// A text as a trace.
#[derive(Debug)]
pub struct Converted {
    pub trace: Vec<u8>,
    /// Lines of known events whose fields cannot be read.
    pub unreadable: u64,
    /// Times are multiples of this.
    pub resolution_ns: u64,
    pub is_perf: bool,
}

/// The lines of a text as records; `clock` is empty if unknown.
pub fn convert(text: &str, clock: &str) -> Converted {
    let mut converter = Converter::default();
    text.lines().for_each(|line| converter.line(line));
    converter.finish(clock)
}

#[derive(Default)]
struct Converter {
    cpus: BTreeMap<u32, PageWriter>,
    layouts: BTreeMap<String, Layout>,
    functions: Functions,
    contexts: Contexts,
    unreadable: u64,
    has_ns: bool,
    is_perf: bool,
}

impl Converter {
    fn line(&mut self, text: &str) {
        if let Some((cpu, count)) = lost(text) {
            self.cpu(cpu).lose(count);
        } else if let Some(line) = Line::parse(text).filter(|line| line.cpu < CPUS_MAX) {
            self.has_ns |= line.has_ns;
            self.is_perf |= line.is_perf;
            let flags = line.flags.map_or_else(|| self.contexts.flags(line.cpu, line.name), |flags| bits(&flags));
            match self.payload(&line, flags) {
                Some(payload) => {
                    self.cpu(line.cpu).push(RawRecord { ts_ns: line.ts_ns, payload: &payload });
                }
                None => {
                    self.unreadable += 1;
                    self.cpu(line.cpu).lose(Some(1));
                }
            }
        }
    }

    fn cpu(&mut self, cpu: u32) -> &mut PageWriter {
        self.cpus.entry(cpu).or_insert_with(|| PageWriter::new(PageLayout::bits64(ByteOrder::Little)))
    }

    fn payload(&mut self, line: &Line<'_>, flags: u8) -> Option<Vec<u8>> {
        let number = self.layouts.len() as u16 + 1;
        if !self.layouts.contains_key(line.name) {
            // A text with more kinds of events than the kernel has is none of the kernel's.
            if number == u16::MAX {
                return None;
            }
            self.layouts.insert(line.name.to_owned(), Layout::of(number, line.name));
        }
        let layout = self.layouts.get(line.name)?;
        let depth = line.flags.map_or(0, |flags| flags.preempt_depth);
        let mut payload = layout.head(flags, depth, line.tid);
        let Some(known) = layout.known else {
            layout::push_text(&mut payload, line.fields, TEXT_BYTES_MAX);
            return Some(payload);
        };
        for (value, (.., kind)) in values(&known, line.fields)?.into_iter().zip(known.fields) {
            match kind {
                Kind::Name => layout::push_name(&mut payload, value),
                _ => payload.extend(number_of(*kind, value, &mut self.functions)?.to_le_bytes()),
            }
        }
        if is_vector(line.name) {
            payload.extend(0i64.to_le_bytes());
        }
        Some(payload)
    }

    fn finish(self, clock: &str) -> Converted {
        let layout = PageLayout::bits64(ByteOrder::Little);
        let metadata = MetadataText {
            header_page: layout.text(),
            header_event: "# compressed entry header\n".into(),
            event_formats: self
                .layouts
                .iter()
                .map(|(name, layout)| (layout.system.into(), layout.text(name)))
                .collect(),
            kallsyms: self.functions.text(),
            ..MetadataText::default()
        };
        let pages: Vec<(u32, Vec<u8>)> = self.cpus.into_iter().map(|(cpu, writer)| (cpu, writer.finish())).collect();
        let trace = TraceDat {
            metadata: &metadata,
            layout,
            clock,
            uname: "",
            version: "",
            cpu_count: pages.iter().map(|(cpu, _)| cpu + 1).max().unwrap_or(1),
            cpus: pages.iter().map(|(cpu, pages)| CpuBytes { cpu: *cpu, pages, stats: None }).collect(),
        };
        let resolution_ns = if self.has_ns { 1 } else { 1000 };
        Converted { trace: trace.to_vec(), unreadable: self.unreadable, resolution_ns, is_perf: self.is_perf }
    }
}

/// `CPU:1 [LOST 123 EVENTS]`.
fn lost(line: &str) -> Option<(u32, Option<u64>)> {
    let (cpu, rest) = line.trim().strip_prefix("CPU:")?.split_once(" [LOST ")?;
    let cpu = cpu.trim().parse().ok().filter(|cpu| *cpu < CPUS_MAX)?;
    Some((cpu, rest.split_whitespace().next()?.parse().ok()))
}

/// The flags as records have them.
fn bits(flags: &Flags) -> u8 {
    let context = match flags.context {
        'h' => flag::HARDIRQ,
        's' => flag::SOFTIRQ,
        'H' => flag::HARDIRQ | flag::SOFTIRQ,
        'z' | 'Z' => flag::NMI,
        _ => 0,
    };
    let resched = match flags.resched {
        'N' | 'B' => flag::NEED_RESCHED | flag::PREEMPT_RESCHED,
        'n' => flag::NEED_RESCHED,
        'p' => flag::PREEMPT_RESCHED,
        _ => 0,
    };
    context | resched | if flags.interrupts_off() { flag::IRQS_OFF } else { 0 }
}

fn number_of(kind: Kind, text: &str, functions: &mut Functions) -> Option<i64> {
    let word = text.split_whitespace().next()?.trim_end_matches(',');
    match kind {
        // An idle CPU leaves with the largest number that the field can have.
        Kind::Number => word.parse().ok().or_else(|| word.parse::<u64>().ok().map(|value| value as i64)),
        Kind::Address => u64::from_str_radix(word.trim_start_matches("0x"), 16).ok().map(|value| value as i64),
        Kind::Function => Some(functions.address(word) as i64),
        Kind::State => state(word),
        Kind::Name => None,
    }
}

/// The bits of `prev_state`.
fn state(letters: &str) -> Option<i64> {
    Some(match letters.bytes().next()? {
        b'R' => i64::from(letters.contains('+')) << 8,
        b'S' => 0x01,
        b'D' => 0x02,
        b'T' => 0x04,
        b't' => 0x08,
        b'X' | b'x' => 0x10,
        b'Z' => 0x20,
        b'P' => 0x40,
        b'I' | b'W' => 0x80,
        b'0'..=b'9' => return letters.parse().ok(),
        _ => return None,
    })
}

/// The description of an event by its name.
fn known(name: &str) -> Option<Known> {
    KNOWN.iter().find(|known| known.name == name).copied()
}
