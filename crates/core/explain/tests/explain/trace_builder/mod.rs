//! Builds trace.dat bytes from a textual list of events, so that a case can be written by hand and is readable.
//!
//! A line is `TIME CPU FLAGS COMM-TID EVENT [FIELD=VALUE]...`: time in us relative to due, flags in the kernel's
//! notation (`d.h1`). A value is a number, or a text; for a pointer field it is the name of a function. Lines that
//! begin with `#` are comments. `lost_events count=N` is not an event: the kernel lost events there.

mod events;
mod pages;

use events::{Definition, definition, format_text};
use ftrace::byte_order::ByteOrder;
use ftrace::header::PageLayout;
use ftrace::metadata::MetadataText;
use ftrace::trace_dat::{CpuBytes, TraceDat};
use pages::Pages;
use std::collections::BTreeMap;

/// Not an event: the kernel lost `count` of them here.
pub const LOST_EVENTS: &str = "lost_events";

/// One event, ready to be encoded.
#[derive(Debug, Clone)]
pub struct Line {
    pub ts_ns: i64,
    pub cpu: u32,
    /// Bits of `common_flags`.
    pub flags: u8,
    pub depth: u8,
    pub tid: i32,
    pub comm: String,
    pub event: String,
    pub fields: Vec<(String, String)>,
}

/// Reads a list of events with times relative to `due_ns`.
pub fn parse(text: &str, due_ns: i64) -> Vec<Line> {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let mut parsed: Vec<Line> = lines.map(|line| parse_line(line, due_ns)).collect();
    parsed.sort_by_key(|line| line.ts_ns);
    parsed
}

fn parse_line(line: &str, due_ns: i64) -> Line {
    let mut words = line.split_whitespace();
    let mut word = || words.next().unwrap_or_else(|| panic!("too few words: {line}"));
    let time_us: f64 = word().parse().unwrap_or_else(|_| panic!("no time: {line}"));
    let cpu = word().parse().unwrap_or_else(|_| panic!("no CPU: {line}"));
    let (flags, depth) = parse_flags(word());
    let (comm, tid) = word().rsplit_once('-').unwrap_or_else(|| panic!("no COMM-TID: {line}"));
    let (comm, tid) = (comm.to_owned(), tid.parse().unwrap_or_else(|_| panic!("no thread: {line}")));
    let event = word().to_owned();
    let fields = words
        .map(|word| word.split_once('=').unwrap_or_else(|| panic!("no FIELD=VALUE: {line}")))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    Line { ts_ns: due_ns + (time_us * 1000.0).round() as i64, cpu, flags, depth, tid, comm, event, fields }
}

fn parse_flags(text: &str) -> (u8, u8) {
    let mut characters = text.chars();
    let mut next = || characters.next().unwrap_or('.');
    let irqs = if next() == 'd' { 0x01 } else { 0 };
    let resched = match next() {
        'N' => 0x24,
        'n' => 0x04,
        'p' => 0x20,
        _ => 0,
    };
    let context = match next() {
        'Z' => 0x40,
        'H' => 0x18,
        'h' => 0x08,
        's' => 0x10,
        _ => 0,
    };
    let depth = next().to_digit(16).unwrap_or(0) as u8;
    (irqs | resched | context, depth)
}

/// Addresses of the functions in a trace, in order of first occurrence.
#[derive(Debug, Default)]
pub struct Functions {
    names: Vec<String>,
}

impl Functions {
    const FIRST: u64 = 0xffff_ffff_8100_0000;
    const STEP: u64 = 0x100;

    fn address(&mut self, name: &str) -> u64 {
        let index = self.names.iter().position(|known| known == name).unwrap_or_else(|| {
            self.names.push(name.to_owned());
            self.names.len() - 1
        });
        Self::FIRST + index as u64 * Self::STEP
    }

    fn kallsyms(&self) -> String {
        let line =
            |(index, name): (usize, &String)| format!("{:016x} T {name}\n", Self::FIRST + index as u64 * Self::STEP);
        self.names.iter().enumerate().map(line).collect()
    }
}

/// The whole file.
pub fn trace_dat(lines: &[Line]) -> Vec<u8> {
    let layout = PageLayout::bits64(ByteOrder::Little);
    let mut functions = Functions::default();
    let mut cpus: BTreeMap<u32, Pages> = BTreeMap::new();
    let mut used: BTreeMap<u16, &'static Definition> = BTreeMap::new();
    let mut command_lines: BTreeMap<i32, &str> = BTreeMap::new();
    for line in lines {
        if line.event == LOST_EVENTS {
            let count = line.fields.iter().find(|(name, _)| name == "count").and_then(|(_, text)| text.parse().ok());
            cpus.entry(line.cpu).or_default().lose(count.unwrap_or(1));
            continue;
        }
        let definition = definition(&line.event).unwrap_or_else(|| panic!("unknown event {}", line.event));
        used.insert(definition.id, definition);
        if line.tid != 0 {
            command_lines.insert(line.tid, &line.comm);
        }
        let payload = definition.encode(line, &mut functions);
        cpus.entry(line.cpu).or_default().push(line.ts_ns.max(0) as u64, &payload);
    }
    let metadata = MetadataText {
        header_page: "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\
                      \tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n\
                      \tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n\
                      \tfield: char data;\toffset:16;\tsize:4080;\tsigned:1;\n"
            .into(),
        header_event: "# compressed entry header\n".into(),
        event_formats: used
            .values()
            .map(|definition| (definition.system.to_owned(), format_text(definition)))
            .collect(),
        saved_cmdlines: command_lines.iter().map(|(tid, comm)| format!("{tid} {comm}\n")).collect(),
        printk_formats: String::new(),
        kallsyms: functions.kallsyms(),
    };
    let cpus: Vec<(u32, Vec<u8>)> = cpus.into_iter().map(|(cpu, pages)| (cpu, pages.finish())).collect();
    TraceDat {
        metadata: &metadata,
        layout,
        clock: "mono",
        uname: "",
        version: "trace_builder",
        cpu_count: cpus.iter().map(|(cpu, _)| cpu + 1).max().unwrap_or(1),
        cpus: cpus.iter().map(|(cpu, pages)| CpuBytes { cpu: *cpu, pages, stats: None }).collect(),
    }
    .to_vec()
}

/// Names of all events a line may have.
pub fn event_names() -> Vec<&'static str> {
    let mut names = events::names();
    names.push(LOST_EVENTS);
    names
}
