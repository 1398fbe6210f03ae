//! A trace as it was recorded, event by event with all its fields, for conversion to other formats.
//!
//! Nothing is interpreted or left out here: the kernel's data is passed on under the kernel's own names.

use ftrace::format::{EventFormat, Field, Storage};
use ftrace::page::GapKind;
use ftrace::print_fmt::EventPrinter;
use ftrace::trace_dat::{CpuRecords, Record, Source, TraceFile, TraceItem};
use std::borrow::Cow;

/// An opened trace.dat. Opening never fails: [`Recording::gaps`] lists what is missing.
#[derive(Debug)]
pub struct Recording<'a> {
    file: TraceFile<'a>,
}

/// One item of a CPU, in order of time.
#[derive(Debug)]
pub enum RecordedItem<'r> {
    Event(RecordedEvent<'r>),
    /// Events are missing here; their number, if the kernel reported it.
    Lost {
        count: Option<u64>,
    },
}

/// One event.
#[derive(Debug, Clone, Copy)]
pub struct RecordedEvent<'r> {
    /// In ns of the trace clock.
    pub ts_ns: u64,
    pub cpu: u32,
    /// The running thread; 0 is idle.
    pub tid: i32,
    /// `None` if the trace does not describe this event.
    format: Option<&'r EventFormat>,
    record: Record<'r>,
}

/// The value of a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecordedValue<'r> {
    Signed(i64),
    Unsigned(u64),
    Text(Cow<'r, str>),
    /// An array of numbers.
    Numbers(Vec<u64>),
}

impl<'a> Recording<'a> {
    pub fn open(trace: impl Into<Source<'a>>) -> Self {
        Self { file: TraceFile::parse(trace) }
    }

    /// Parts that could not be read, one sentence each.
    pub fn gaps(&self) -> Vec<String> {
        self.file.gaps.iter().map(ToString::to_string).collect()
    }

    /// Name of the trace clock; empty if the trace does not contain it.
    pub fn clock(&self) -> &str {
        &self.file.metadata.clock
    }

    /// Ascending.
    pub fn cpus(&self) -> Vec<u32> {
        let mut cpus = self.file.cpus();
        cpus.sort_unstable();
        cpus.dedup();
        cpus
    }

    /// All items of one CPU.
    pub fn items(&self, cpu: u32) -> impl Iterator<Item = RecordedItem<'_>> {
        let records: CpuRecords<'_> = self.file.cpu_records(cpu);
        records.map(move |item| match item {
            TraceItem::Record(record) => RecordedItem::Event(RecordedEvent {
                ts_ns: record.ts_ns,
                cpu,
                tid: record.common_pid,
                format: self.file.metadata.formats.by_id(record.id),
                record,
            }),
            TraceItem::Gap(gap) => match gap.kind {
                GapKind::Lost { count } => RecordedItem::Lost { count },
                _ => RecordedItem::Lost { count: None },
            },
        })
    }

    /// The function that contains an address, and the offset from its start in bytes.
    pub fn function(&self, address: u64) -> Option<(&str, u64)> {
        self.file.metadata.symbols.find(address)
    }

    /// The kernel's name for a thread when the trace was read.
    pub fn thread_name(&self, tid: i32) -> Option<&str> {
        self.file.metadata.command_lines.name(tid)
    }

    /// Formats events like the kernel.
    pub fn printer(&self) -> RecordedText<'_> {
        RecordedText(EventPrinter::new(&self.file.metadata))
    }
}

/// Prints events of one [`Recording`].
#[derive(Debug)]
pub struct RecordedText<'r>(EventPrinter<'r>);

impl RecordedText<'_> {
    /// The event's own fields in the kernel's text format, on one or more lines.
    pub fn of(&mut self, event: &RecordedEvent<'_>) -> String {
        let mut text = String::new();
        self.0.print(&event.record, &mut text);
        text
    }
}

impl<'r> RecordedEvent<'r> {
    /// The kernel's group of the event, `sched`; empty if the trace does not describe it.
    pub fn system(&self) -> &'r str {
        self.format.map_or("", |format| &format.system)
    }

    /// `sched_switch`; empty if the trace does not describe it.
    pub fn name(&self) -> &'r str {
        self.format.map_or("", |format| &format.name)
    }

    /// Number of the event's kind in this trace.
    pub fn kind(&self) -> u16 {
        self.record.id
    }

    /// A number by the kernel's field name; `None` if the field is missing, not a number, or cut off.
    pub fn number(&self, field: &str) -> Option<i64> {
        let field = self.format?.field(field)?;
        if field.storage == Storage::Value { field.int(self.record.payload) } else { None }
    }

    /// A text by the kernel's field name.
    pub fn text(&self, field: &str) -> Option<Cow<'r, str>> {
        let field = self.format?.field(field)?;
        if field.is_text() { field.text(self.record.payload) } else { None }
    }

    /// The fields specific to this event, in the kernel's order; those that are cut off are left out.
    pub fn fields(&self) -> impl Iterator<Item = (&'r str, RecordedValue<'r>)> {
        let payload = self.record.payload;
        let fields = self.format.into_iter().flat_map(EventFormat::own_fields);
        fields.filter_map(move |field| Some((field.name.as_str(), value(field, payload)?)))
    }
}

fn value<'r>(field: &'r Field, payload: &'r [u8]) -> Option<RecordedValue<'r>> {
    if field.is_text() {
        return field.text(payload).map(RecordedValue::Text);
    }
    if field.storage != Storage::Value {
        let count = field.bytes(payload)?.len() / field.element_size.max(1);
        return Some(RecordedValue::Numbers((0..count).filter_map(|index| field.element(payload, index)).collect()));
    }
    match field.signed {
        true => field.int(payload).map(RecordedValue::Signed),
        false => field.uint(payload).map(RecordedValue::Unsigned),
    }
}
