//! Decodes the recorded pages into events in order of time.

use archive::storage::StorageDescription;
use ftrace::byte_order::ByteOrder;
use ftrace::format::{EventFormats, Field};
use ftrace::metadata::MetadataText;
use ftrace::trace_dat::{CpuRecords, Merged, Record, TraceItem};
use std::collections::{BTreeMap, BTreeSet};

/// A description from elsewhere may turn few bytes into many events.
const EVENTS_MAX: usize = 8_000_000;
/// `TRACE_FLAG_HARDIRQ` and `TRACE_FLAG_SOFTIRQ` of the kernel.
const IN_INTERRUPT: u8 = 0x08;
const IN_SOFTIRQ: u8 = 0x10;
/// Threads that execute softirqs and handlers of interrupts.
const OF_INTERRUPTS: [&str; 2] = ["irq/", "ksoftirqd/"];

/// Pages of one CPU, as they were recorded.
#[derive(Debug, Clone, Copy)]
pub struct CpuPages<'a> {
    pub cpu: u32,
    pub pages: &'a [u8],
}

/// Sectors of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    pub sector: u64,
    pub sectors: u64,
    /// It has no sectors, and has the device write its cache out.
    pub is_flush: bool,
    /// The device is to write it through its cache.
    pub is_fua: bool,
}

impl Extent {
    pub fn end(&self) -> u64 {
        self.sector.saturating_add(self.sectors)
    }
}

/// The kind of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    Queue(Extent),
    /// Merged into a request that was there.
    Merge(Extent),
    /// The part that starts at `sector` ends at `at`; the rest is a part of its own.
    Split {
        sector: u64,
        at: u64,
    },
    Get(Extent),
    Insert(Extent),
    /// Two requests became one.
    MergeRequests(Extent),
    Issue(Extent),
    Requeue(Extent),
    Complete(Extent),
    /// Completion of a part on a device without requests.
    CompletePart(Extent),
    Waking {
        tid: i32,
    },
    /// `waits`: the thread that is switched out is not runnable.
    Switch {
        prev: i32,
        next: i32,
        waits: bool,
    },
    Interrupt {
        number: u32,
    },
    BlockSoftirq,
    ReclaimBegin,
    ReclaimEnd,
    /// The running thread collects requests from here.
    Plug,
    Unplug,
    /// The running thread will sleep, because too many pages are dirty.
    DirtyThrottling,
}

/// An event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    pub at_ns: i64,
    pub cpu: u32,
    /// The thread that was running.
    pub tid: i32,
    /// In an interrupt, or in a softirq that interrupted the thread; `false` in one that a thread of interrupts executes.
    pub in_interrupt: bool,
    pub what: What,
}

/// Everything that was recorded.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recorded {
    /// Ascending.
    pub events: Vec<Event>,
    /// Instants of the first events after a loss.
    pub gaps: Vec<i64>,
    /// Events after the last one that is kept.
    pub left_out: u64,
    /// Names of threads that submitted requests.
    pub names: BTreeMap<i32, String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Queue,
    Merge,
    Get,
    Insert,
    MergeRequests,
    Issue,
    Requeue,
    Complete,
    CompletePart,
}

/// Fields of an event about sectors.
struct OfSectors {
    kind: Kind,
    sector: Field,
    sectors: Field,
    direction: Option<Field>,
    name: Option<Field>,
}

/// Fields of the events by their numbers; what a kernel lacks is not decoded.
struct Decoder {
    of_sectors: BTreeMap<u16, OfSectors>,
    split: Option<(u16, Field, Field)>,
    waking: Option<(u16, Field)>,
    switch: Option<(u16, Field, Field, Field)>,
    /// Numbers and names of the two threads of a switch.
    switched: Vec<(Field, Field)>,
    interrupt: Option<(u16, Field)>,
    softirq: Option<u16>,
    reclaim_begin: Option<u16>,
    reclaim_end: Option<u16>,
    plug: Option<u16>,
    unplug: Option<u16>,
    dirty_throttling: Option<(u16, Field)>,
}

const OF_SECTORS: [(&str, Kind); 10] = [
    ("block_bio_queue", Kind::Queue),
    ("block_bio_backmerge", Kind::Merge),
    ("block_bio_frontmerge", Kind::Merge),
    ("block_getrq", Kind::Get),
    ("block_rq_insert", Kind::Insert),
    ("block_rq_merge", Kind::MergeRequests),
    ("block_rq_issue", Kind::Issue),
    ("block_rq_requeue", Kind::Requeue),
    ("block_rq_complete", Kind::Complete),
    ("block_bio_complete", Kind::CompletePart),
];

/// Bits of `prev_state` of a thread that is not runnable; a larger one marks a preemption.
const WAITING: i64 = 0x7f;
const PREEMPTED: i64 = 0x100;

impl Decoder {
    fn new(formats: &EventFormats) -> Self {
        let id = |system: &str, name: &str| formats.find(system, name).map(|format| format.id);
        let field = |system: &str, name: &str, field: &str| formats.find(system, name)?.field(field).cloned();
        let of_sectors = OF_SECTORS.iter().filter_map(|(name, kind)| {
            let of = |wanted: &str| field("block", name, wanted);
            let fields = OfSectors {
                kind: *kind,
                sector: of("sector")?,
                sectors: of("nr_sector")?,
                direction: of("rwbs"),
                name: of("comm"),
            };
            Some((id("block", name)?, fields))
        });
        let split = || {
            let of = |wanted: &str| field("block", "block_split", wanted);
            Some((id("block", "block_split")?, of("sector")?, of("new_sector")?))
        };
        let switch = || {
            let of = |wanted: &str| field("sched", "sched_switch", wanted);
            Some((id("sched", "sched_switch")?, of("prev_pid")?, of("prev_state")?, of("next_pid")?))
        };
        let switched = |number: &str, name: &str| {
            let of = |wanted: &str| field("sched", "sched_switch", wanted);
            Some((of(number)?, of(name)?))
        };
        let switched = [switched("prev_pid", "prev_comm"), switched("next_pid", "next_comm")];
        Self {
            of_sectors: of_sectors.collect(),
            split: split(),
            waking: id("sched", "sched_waking").zip(field("sched", "sched_waking", "pid")),
            switch: switch(),
            switched: switched.into_iter().flatten().collect(),
            interrupt: id("irq", "irq_handler_entry").zip(field("irq", "irq_handler_entry", "irq")),
            softirq: id("irq", "softirq_entry"),
            reclaim_begin: id("vmscan", "mm_vmscan_direct_reclaim_begin"),
            reclaim_end: id("vmscan", "mm_vmscan_direct_reclaim_end"),
            plug: id("block", "block_plug"),
            unplug: id("block", "block_unplug"),
            dirty_throttling: id("writeback", "balance_dirty_pages").zip(field(
                "writeback",
                "balance_dirty_pages",
                "pause",
            )),
        }
    }

    /// Adds those of the two threads of a switch that handle interrupts.
    fn note_threads_of_interrupts(&self, record: &Record<'_>, found: &mut BTreeSet<i32>) {
        if self.switch.as_ref().is_none_or(|(own, ..)| *own != record.id) {
            return;
        }
        for (number, name) in &self.switched {
            let name = name.text(record.payload).unwrap_or_default();
            let number = number.int(record.payload).and_then(|number| i32::try_from(number).ok());
            if OF_INTERRUPTS.iter().any(|of| name.starts_with(of)) {
                found.extend(number);
            }
        }
    }

    fn decode(&self, record: &Record<'_>, names: &mut BTreeMap<i32, String>) -> Option<What> {
        let (id, payload) = (record.id, record.payload);
        if let Some(fields) = self.of_sectors.get(&id) {
            let direction = fields.direction.as_ref().and_then(|field| field.text(payload)).unwrap_or_default();
            let sectors = fields.sectors.uint(payload)?;
            let is_flush = sectors == 0 && (direction.contains('F') || matches!(fields.kind, Kind::Complete));
            let is_fua = direction.trim_start_matches('F').contains('F');
            let extent = Extent { sector: fields.sector.uint(payload)?, sectors, is_flush, is_fua };
            if let (Kind::Queue, Some(name)) = (fields.kind, &fields.name) {
                names.entry(record.common_pid).or_insert_with(|| name.text(payload).unwrap_or_default().into_owned());
            }
            return Some(match fields.kind {
                Kind::Queue => What::Queue(extent),
                Kind::Merge => What::Merge(extent),
                Kind::Get => What::Get(extent),
                Kind::Insert => What::Insert(extent),
                Kind::MergeRequests => What::MergeRequests(extent),
                Kind::Issue => What::Issue(extent),
                Kind::Requeue => What::Requeue(extent),
                // What follows a flush has no sectors either, and ends nothing.
                Kind::Complete if sectors == 0 && !direction.contains('F') => return None,
                Kind::Complete => What::Complete(extent),
                Kind::CompletePart => What::CompletePart(extent),
            });
        }
        if let Some((_, sector, at)) = self.split.as_ref().filter(|(own, ..)| *own == id) {
            return Some(What::Split { sector: sector.uint(payload)?, at: at.uint(payload)? });
        }
        let number = |field: &Field| field.int(payload).and_then(|value| i32::try_from(value).ok());
        if let Some((_, woken)) = self.waking.as_ref().filter(|(own, _)| *own == id) {
            return Some(What::Waking { tid: number(woken)? });
        }
        if let Some((_, prev, state, next)) = self.switch.as_ref().filter(|(own, ..)| *own == id) {
            let state = state.int(payload)?;
            let waits = state & WAITING != 0 && state & PREEMPTED == 0;
            return Some(What::Switch { prev: number(prev)?, next: number(next)?, waits });
        }
        if let Some((_, irq)) = self.interrupt.as_ref().filter(|(own, _)| *own == id) {
            return Some(What::Interrupt { number: u32::try_from(irq.int(payload)?).ok()? });
        }
        let is = |own: Option<u16>| own == Some(id);
        if is(self.softirq) {
            return Some(What::BlockSoftirq);
        }
        if is(self.reclaim_begin) {
            return Some(What::ReclaimBegin);
        }
        if is(self.plug) {
            return Some(What::Plug);
        }
        if is(self.unplug) {
            return Some(What::Unplug);
        }
        if let Some((_, pause)) = self.dirty_throttling.as_ref().filter(|(own, _)| *own == id) {
            return (pause.int(payload)? > 0).then_some(What::DirtyThrottling);
        }
        is(self.reclaim_end).then_some(What::ReclaimEnd)
    }
}

/// Reads all pages of a run.
pub fn read(description: &StorageDescription, cpus: &[CpuPages<'_>]) -> Recorded {
    read_at_most(EVENTS_MAX, description, cpus)
}

/// Reads all pages of a run, and keeps the first `events_max` events.
fn read_at_most(events_max: usize, description: &StorageDescription, cpus: &[CpuPages<'_>]) -> Recorded {
    let order = if description.recorded.big_endian { ByteOrder::Big } else { ByteOrder::Little };
    let text = MetadataText {
        header_page: description.recorded.header_page.clone(),
        header_event: description.recorded.header_event.clone(),
        event_formats: description.recorded.event_formats.clone(),
        ..MetadataText::default()
    };
    let metadata = text.parse(order);
    let layout = metadata.layout.with_page_size(usize::try_from(description.recorded.page_bytes).unwrap_or(0));
    let decoder = Decoder::new(&metadata.formats);
    let mut recorded = Recorded::default();
    let mut of_interrupts = BTreeSet::new();
    for item in Merged::new(cpus.iter().map(|cpu| CpuRecords::new(cpu.cpu, cpu.pages, &layout))) {
        match item {
            TraceItem::Gap(gap) => recorded.gaps.push(i64::try_from(gap.ts_ns).unwrap_or(i64::MAX)),
            TraceItem::Record(record) => {
                let at_ns = i64::try_from(record.ts_ns).unwrap_or(i64::MAX);
                decoder.note_threads_of_interrupts(&record, &mut of_interrupts);
                let Some(what) = decoder.decode(&record, &mut recorded.names) else { continue };
                if recorded.events.len() >= events_max {
                    // What is open then goes on unseen.
                    recorded.gaps.extend((recorded.left_out == 0).then_some(at_ns));
                    recorded.left_out += 1;
                    continue;
                }
                recorded.events.push(Event {
                    at_ns,
                    cpu: record.cpu,
                    tid: record.common_pid,
                    in_interrupt: record.common_flags & IN_INTERRUPT != 0
                        || record.common_flags & IN_SOFTIRQ != 0 && !of_interrupts.contains(&record.common_pid),
                    what,
                });
            }
        }
    }
    recorded.gaps.sort_unstable();
    recorded
}

#[cfg(test)]
mod tests {
    use super::*;
    use archive::recorded_pages::RecordedPages;
    use ftrace::header::PageLayout;
    use ftrace::page::RawRecord;
    use ftrace::page::writer::PageWriter;

    const WAKING: &str = "name: sched_waking\nID: 1\nformat:\n\tfield:pid_t pid;\toffset:8;\tsize:4;\tsigned:1;\n";

    #[test]
    fn events_beyond_the_most_that_are_kept_are_counted() {
        let layout = PageLayout::bits64(ByteOrder::Little);
        let mut writer = PageWriter::new(layout);
        for ts_ns in 1..=10 {
            writer.push(RawRecord { ts_ns, payload: &[1, 0, 0, 0, 7, 0, 0, 0, 9, 0, 0, 0] });
        }
        let recorded = RecordedPages {
            header_page: layout.text(),
            event_formats: vec![("sched".into(), WAKING.into())],
            page_bytes: 4096,
            ..RecordedPages::default()
        };
        let description = StorageDescription { recorded, ..StorageDescription::default() };
        let pages = writer.finish();
        let read = |events_max: usize| read_at_most(events_max, &description, &[CpuPages { cpu: 0, pages: &pages }]);
        let (some, all) = (read(6), read(10));
        assert_eq!((some.events.len(), some.left_out, &some.gaps[..]), (6, 4, &[7][..]));
        assert_eq!((all.events.len(), all.left_out, &all.gaps[..]), (10, 0, &[][..]));
    }
}
