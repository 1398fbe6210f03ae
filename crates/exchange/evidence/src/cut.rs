//! The trace around one wake-up, as a trace.dat of its own in CLOCK_MONOTONIC.

use crate::clock::Clock;
use crate::survey::Survey;
use archive::spike::Coverage;
use ftrace::format::EventFormats;
use ftrace::kernel_addresses::kernel_addresses;
use ftrace::metadata::MetadataText;
use ftrace::page::writer::PageWriter;
use ftrace::page::{GapKind, RawRecord};
use ftrace::trace_dat::{CpuBytes, PagedTrace, TraceDat, TraceItem};
use std::collections::{BTreeMap, BTreeSet};

/// Stretch before a wake-up in which its timer was set, and the state of each CPU shows.
const BEFORE_NS_MIN: i64 = 12_000_000;
const BEFORE_NS_MAX: i64 = 1_000_000_000;
const AFTER_NS: i64 = 300_000;
/// A stretch is shortened to about this.
const SHORTENED_BY_NS: i64 = 100_000;
/// A wake-up is not later than this: its part of the trace would be the whole trace.
const MARGIN_NS_MAX: i64 = 10_000_000_000;

/// A stretch of CLOCK_MONOTONIC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stretch {
    pub from_ns: i64,
    pub to_ns: i64,
}

impl Stretch {
    /// Margin that holds the cause of a late wake-up of a periodic thread.
    pub fn around(due_ns: i64, seen_ns: i64, period_ns: i64) -> Self {
        let margin_ns = (seen_ns.saturating_sub(due_ns) / 4).clamp(0, MARGIN_NS_MAX);
        let before_ns = period_ns.saturating_mul(3).clamp(BEFORE_NS_MIN, BEFORE_NS_MAX);
        Self {
            from_ns: due_ns.saturating_sub(margin_ns).saturating_sub(before_ns),
            to_ns: seen_ns.saturating_add(margin_ns).saturating_add(AFTER_NS),
        }
    }

    /// The same, begun later if its pages would be more than `bytes_max`, but not after `due_ns`.
    pub fn fitting(self, file: &PagedTrace<'_>, offsets: &OffsetsAt, due_ns: i64, bytes_max: u64) -> Self {
        let fits = |from_ns: i64| {
            let bytes = |cpu: u32, offset_ns: i64| {
                let of_clock = |ns: i64| instant(ns.saturating_sub(offset_ns));
                file.bytes_in(cpu, of_clock(from_ns), of_clock(self.to_ns))
            };
            offsets.iter().map(|(cpu, offset_ns)| bytes(cpu, offset_ns)).sum::<u64>() <= bytes_max
        };
        if self.from_ns >= due_ns || fits(self.from_ns) {
            return self;
        }
        let (mut too_early_ns, mut fitting_ns) = (self.from_ns, due_ns);
        while fitting_ns - too_early_ns > SHORTENED_BY_NS {
            let middle_ns = too_early_ns + (fitting_ns - too_early_ns) / 2;
            if fits(middle_ns) { fitting_ns = middle_ns } else { too_early_ns = middle_ns }
        }
        Self { from_ns: fitting_ns, ..self }
    }
}

/// A cut trace.
#[derive(Debug)]
pub struct Cut {
    pub trace: Vec<u8>,
    pub coverage: Vec<Coverage>,
    pub spread_ns: i64,
}

/// The offsets of all CPUs at an instant, each constant in a cut.
#[derive(Debug)]
pub struct OffsetsAt(BTreeMap<u32, (i64, i64)>);

impl OffsetsAt {
    /// `ts_ns`: an instant of the trace clock.
    pub fn new(survey: &Survey, ts_ns: i64) -> Self {
        let of = |cpu: &u32| {
            let offset = survey.clock.offset(*cpu, ts_ns);
            let rough_ns = || survey.clock.rough_ns(*cpu, ts_ns);
            (*cpu, offset.map_or_else(|| (rough_ns(), i64::MAX), |offset| (offset.ns, offset.spread_ns)))
        };
        Self(survey.cpus.keys().map(of).collect())
    }

    fn iter(&self) -> impl Iterator<Item = (u32, i64)> {
        self.0.iter().map(|(cpu, (ns, _))| (*cpu, *ns))
    }

    pub fn ns(&self, cpu: u32) -> i64 {
        self.0.get(&cpu).map_or(0, |(ns, _)| *ns)
    }

    /// How uncertain the times of this CPU are; `None` if nothing relates its clock to CLOCK_MONOTONIC there.
    pub fn spread_ns(&self, cpu: u32) -> Option<i64> {
        self.0.get(&cpu).map(|(_, spread_ns)| *spread_ns).filter(|spread_ns| *spread_ns < i64::MAX)
    }
}

/// An instant of the trace clock as records have it.
fn instant(ts_ns: i64) -> u64 {
    ts_ns.max(0) as u64
}

/// Cuts a stretch out of a recording.
pub fn cut(file: &PagedTrace<'_>, survey: &Survey, stretch: Stretch, offsets: &OffsetsAt, cpu: u32) -> Cut {
    let formats = formats(file, survey);
    let (mut pages, mut coverage) = (Vec::new(), Vec::new());
    let (mut addresses, mut threads) = (BTreeSet::new(), BTreeSet::new());
    for (&cpu, span) in &survey.cpus {
        let offset_ns = offsets.ns(cpu);
        let (from_ns, to_ns) = (stretch.from_ns.saturating_sub(offset_ns), stretch.to_ns.saturating_sub(offset_ns));
        let mut writer = PageWriter::new(file.layout());
        let window = file.cpu_window(cpu, instant(from_ns), instant(to_ns));
        addresses.extend(kernel_addresses(&formats, window.cpu_records(cpu)));
        for item in window.cpu_records(cpu) {
            match item {
                TraceItem::Record(record) if formats.by_id(record.id).is_some() => {
                    threads.insert(record.common_pid);
                    let ts_ns = record.ts_ns.saturating_add_signed(offset_ns);
                    writer.push(RawRecord { ts_ns, payload: record.payload });
                }
                TraceItem::Record(_) => {}
                TraceItem::Gap(gap) => writer.lose(if let GapKind::Lost { count } = gap.kind { count } else { None }),
            }
        }
        pages.push((cpu, writer.finish()));
        coverage.push(covered(cpu, (span.first_ns, span.last_ns), stretch, offset_ns));
    }
    let metadata = metadata(file, &formats, &addresses, &threads);
    let trace = TraceDat {
        metadata: &metadata,
        layout: file.layout(),
        clock: "mono",
        uname: &file.metadata.uname,
        version: concat!("tardy ", env!("CARGO_PKG_VERSION")),
        cpu_count: pages.iter().map(|(cpu, _)| cpu + 1).max().unwrap_or(1),
        cpus: pages.iter().map(|(cpu, pages)| CpuBytes { cpu: *cpu, pages, stats: None }).collect(),
    };
    Cut { trace: trace.to_vec(), coverage, spread_ns: offsets.spread_ns(cpu).unwrap_or(0) }
}

fn covered(cpu: u32, (first_ns, last_ns): (i64, i64), stretch: Stretch, offset_ns: i64) -> Coverage {
    Coverage {
        cpu,
        oldest_ns: Some(first_ns.saturating_add(offset_ns).max(stretch.from_ns)),
        newest_ns: Some(last_ns.saturating_add(offset_ns).min(stretch.to_ns)),
        overwritten: 0,
        dropped: 0,
    }
}

/// Formats of the events that were recorded: absence of any other shows nothing. A timer whose clock is unrelated to the clock of the trace shows nothing, either.
fn formats(file: &PagedTrace<'_>, survey: &Survey) -> EventFormats {
    let mut formats = EventFormats::default();
    let unrelated = matches!(survey.clock, Clock::Unrelated);
    let recorded = survey.recorded.iter().filter_map(|id| file.metadata.formats.by_id(*id));
    formats.extend(recorded.filter(|format| !(unrelated && format.name == "hrtimer_start")).cloned());
    formats
}

fn metadata(
    file: &PagedTrace<'_>,
    formats: &EventFormats,
    addresses: &BTreeSet<u64>,
    threads: &BTreeSet<i32>,
) -> MetadataText {
    let symbols: BTreeMap<u64, &str> = addresses
        .iter()
        .filter_map(|&address| file.metadata.symbols.find(address).map(|(name, offset)| (address - offset, name)))
        .collect();
    let name = |tid: &i32| file.metadata.command_lines.name(*tid).map(|name| format!("{tid} {name}\n"));
    MetadataText {
        header_page: file.layout().text(),
        header_event: "# compressed entry header\n".into(),
        event_formats: formats.iter().map(|format| (format.system.clone(), format.text())).collect(),
        saved_cmdlines: threads.iter().filter(|tid| **tid != 0).filter_map(name).collect(),
        printk_formats: String::new(),
        kallsyms: symbols.iter().map(|(address, name)| format!("{address:016x} T {name}\n")).collect(),
    }
}
