//! Makes records of the lines of a text.

use super::line::Line;
use super::short::{split_at_byte, without_spaces};
use crate::problem::Refusal;
use crate::records::contexts::Contexts;
use crate::records::event::{Kind, values};
use crate::records::functions::Functions;
use crate::records::layout::{Layout, push_name, push_text};
use crate::records::{About, CPUS_MAX, Pages, Place, Records, Room};
use archive::trace_event::flag;
use ftrace::latency_trace::Flags;

/// A text as a trace.
#[derive(Debug)]
pub struct Converted {
    pub trace: Pages,
    /// Lines of known events whose fields cannot be read.
    pub unreadable: u64,
    /// Times are multiples of this.
    pub resolution_ns: u64,
    pub is_perf: bool,
}

/// The lines of a text as records; `clock` is empty if unknown.
///
/// # Errors
/// [`Refusal::TooSparse`].
pub fn convert(text: &str, clock: &str) -> Result<Converted, Refusal> {
    let mut converter = Converter::new(text.len());
    text.lines().for_each(|line| converter.line(line));
    converter.finish(clock)
}

struct Converter {
    records: Records,
    contexts: Contexts,
    has_ns: bool,
    is_perf: bool,
}

impl Converter {
    fn new(text_bytes: usize) -> Self {
        let records = Records::new(Room::of(text_bytes));
        Self { records, contexts: Contexts::default(), has_ns: false, is_perf: false }
    }

    fn line(&mut self, text: &str) {
        if let Some((cpu, count)) = lost(text) {
            self.records.lose(cpu, count);
        } else if let Some(line) = Line::parse(text).filter(|line| line.cpu < CPUS_MAX) {
            self.has_ns |= line.has_ns;
            self.is_perf |= line.is_perf;
            let flags = line.flags.map_or_else(|| self.contexts.flags(line.cpu, line.name), |flags| bits(&flags));
            let preempt_depth = line.flags.map_or(0, |flags| flags.preempt_depth);
            let place = Place { cpu: line.cpu, ts_ns: line.ts_ns, tid: line.tid, flags, preempt_depth };
            self.records
                .push(place, line.name, |layout, functions, payload| fill(line.fields, layout, functions, payload));
        }
    }

    fn finish(self, clock: &str) -> Result<Converted, Refusal> {
        let resolution_ns = if self.has_ns { 1 } else { 1000 };
        let unreadable = self.records.unreadable;
        let trace = self.records.finish(About { clock, ..About::default() })?;
        Ok(Converted { trace, unreadable, resolution_ns, is_perf: self.is_perf })
    }
}

/// Appends the fields of an event, or its text if it is not known.
fn fill(text: &str, layout: &Layout, functions: &mut Functions, payload: &mut Vec<u8>) -> Option<()> {
    let Some(known) = layout.known else {
        push_text(payload, text);
        return Some(());
    };
    for (value, (.., kind)) in values(&known, text)?.into_iter().zip(known.fields) {
        match kind {
            Kind::Name => push_name(payload, value),
            _ => payload.extend(number_of(*kind, value, functions)?.to_le_bytes()),
        }
    }
    Some(())
}

/// `CPU:1 [LOST 123 EVENTS]`.
fn lost(line: &str) -> Option<(u32, Option<u64>)> {
    let (cpu, rest) = without_spaces(line).strip_prefix("CPU:")?.split_once(" [LOST ")?;
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
    let word = split_at_byte(text, b' ').map_or(text, |(word, _)| word);
    let word = word.strip_suffix(',').unwrap_or(word);
    match kind {
        // An idle CPU leaves with the largest number that the field can have.
        Kind::Number => word.parse().ok().or_else(|| word.parse::<u64>().ok().map(|value| value as i64)),
        Kind::Address => {
            u64::from_str_radix(word.strip_prefix("0x").unwrap_or(word), 16).ok().map(|value| value as i64)
        }
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
