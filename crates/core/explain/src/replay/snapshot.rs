//! Turns the bytes of a trace.dat into a [`Trace`].

use crate::SpikeInput;
use crate::read::decode::Decoder;
use crate::read::event::{Event, EventKind};
use crate::read::names::Names;
use crate::read::window::Window;
use crate::recorder::{Precision, Recorder, Shown};
use crate::replay::trace::{Covered, CpuActivity, RecordItem, Stack, Trace};
use archive::caveat::Limit;
use archive::method::SampleWord;
use archive::spike::{Coverage, Snapshot, Spike};
use archive::watched::WatchedKind;
use ftrace::page::GapKind;
use ftrace::print_fmt::EventPrinter;
use ftrace::trace_dat::{CpuRecords, Record, Source, TraceFile, TraceItem};

/// An instant at which the thread of a spike had the CPU of the sample, if it stayed on it: a cycle begins when it is switched in, and a
/// wake-up by a timer follows another one that it saw.
fn own_seen_ns(spike: &Spike) -> Option<i64> {
    match spike.watched {
        Some(WatchedKind::Cycle) => Some(spike.sample.due_ns),
        Some(WatchedKind::Timer) | None => spike.previous_seen_ns,
        Some(WatchedKind::Woken) => None,
    }
}

/// Maximum number of printed events without built-in words; a larger window is unreadable anyway.
const PRINTED_MAX: usize = 20_000;

/// A snapshot opened for one wake-up.
#[derive(Debug)]
pub struct TraceSnapshot<'a> {
    file: TraceFile<'a>,
    decoder: Decoder,
}

impl<'a> TraceSnapshot<'a> {
    /// Never fails; missing data is reported in the limits of the trace.
    pub fn new(trace: Source<'a>, window: Window) -> Self {
        let file = TraceFile::parse_window(trace, window.lookback_ns as u64, window.end_ns.max(0) as u64);
        let decoder = Decoder::new(&file.metadata);
        Self { file, decoder }
    }

    pub fn has_records(&self) -> bool {
        self.file.buffers.first().is_some_and(|buffer| !buffer.is_empty())
    }

    pub fn trace(&self, input: &SpikeInput, window: Window) -> Trace<'_> {
        let (spike, sample) = (input.spike, input.sample);
        let metadata = &self.file.metadata;
        let shown = Shown::of(input.recorder, &metadata.formats, input.environment);
        let mut limits: Vec<Limit> = self.file.gaps.iter().map(|gap| Limit::TraceDamaged(gap.to_string())).collect();
        let damaged = !limits.is_empty();
        if !metadata.clock.is_empty() && metadata.clock != "mono" {
            limits.push(Limit::ClockNotMono(metadata.clock.to_string()));
        }
        let mut names = Names::default();
        let mut cpus = Vec::new();
        for pages in self.file.buffers.first().map_or(&[][..], |buffer| &buffer.cpus) {
            let (from_ns, to_ns) = (window.lookback_ns as u64, window.end_ns.max(0) as u64);
            let records = CpuRecords::window(pages.cpu, &pages.pages, &self.file.layout(), from_ns, to_ns);
            let covered = Covered { shown, ..self.covered(pages.cpu, spike.snapshot.as_ref(), damaged, window) };
            let items = records.map(|item| match item {
                TraceItem::Record(record) => RecordItem::Event(self.decoder.event(&record)),
                TraceItem::Gap(gap) => RecordItem::Gap {
                    ts_ns: i64::try_from(gap.ts_ns).unwrap_or(i64::MAX),
                    lost: match gap.kind {
                        GapKind::Lost { count } => count,
                        _ => None,
                    },
                },
            });
            let own_seen_ns = own_seen_ns(spike).filter(|_| pages.cpu == spike.sample.cpu);
            let mut activity = CpuActivity::read(pages.cpu, items, window, covered, (spike.tid, own_seen_ns));
            activity.late_interrupts =
                spike.late_interrupts.iter().filter(|late| late.cpu == pages.cpu).cloned().collect();
            activity.late_interrupts.sort_by_key(|late| late.ts_ns);
            let names_things =
                |event: &&Event| matches!(event.what, EventKind::Signal { .. } | EventKind::Freeze { .. });
            for event in activity.before.interventions.iter().filter(names_things) {
                self.decoder.learn(event, &mut names, metadata, window.seen_ns);
            }
            for event in activity.before.events().chain(activity.events.iter().copied()) {
                self.decoder.learn(&event, &mut names, metadata, window.seen_ns);
            }
            if activity.has_functions {
                self.read_stacks(&mut activity, &mut names);
            }
            for function in activity.intervals.iter().filter_map(|interval| interval.context.function()) {
                names.learn_function(function, metadata);
            }
            cpus.push(activity);
        }
        let mut trace = Trace::new(window, cpus, names, false);
        trace.limits = limits;
        trace.shown = shown;
        trace.limits.extend(limits_of_recorder(input.recorder, shown));
        self.print_other_events(&mut trace);
        let tids = trace.tids();
        trace.names.learn_from_command_lines(tids.into_iter(), metadata);
        self.find_limits(&mut trace, spike, sample);
        trace
    }

    fn read_stacks(&self, activity: &mut CpuActivity<'_>, names: &mut Names) {
        for event in activity.events.iter().filter(|event| event.what == EventKind::Stack) {
            let callers = self.decoder.callers(event);
            callers.iter().for_each(|&caller| names.learn_function(caller, &self.file.metadata));
            let text = names.functions_text(&callers);
            names.learn_text(event.cpu, event.ts_ns, text);
            activity.stacks.push(Stack { ts_ns: event.ts_ns, tid: event.tid, callers });
        }
    }

    /// Prints events that are only shown, in the kernel's format.
    fn print_other_events(&self, trace: &mut Trace<'_>) {
        let mut printer = EventPrinter::new(&self.file.metadata);
        let is_other = |event: &Event| matches!(event.what, EventKind::Other | EventKind::WorkQueued { .. });
        let wordless = |event: &&Event| is_other(event) || matches!(event.what, EventKind::Message | EventKind::Marker);
        let events = trace.cpus.iter().flat_map(|activity| activity.before.message.iter().chain(&activity.events));
        for event in events.filter(wordless).take(PRINTED_MAX) {
            let record = Record {
                cpu: event.cpu,
                ts_ns: event.ts_ns as u64,
                id: event.id,
                common_flags: event.flags,
                common_preempt_count: event.depth,
                common_pid: event.tid,
                payload: event.payload,
            };
            let mut text = String::new();
            if is_other(event)
                && let Some(name) = printer.name(&record)
            {
                text.push_str(name);
                text.push(' ');
            }
            printer.print(&record, &mut text);
            trace.names.learn_text(event.cpu, event.ts_ns, text.trim_end().to_owned());
        }
    }

    /// The stretch for which the buffer of a CPU is known to contain all events. A buffer that was never full contains
    /// all since recording began, and only the oldest event of any CPU shows when that was.
    fn covered(&self, cpu: u32, snapshot: Option<&Snapshot>, damaged: bool, window: Window) -> Covered {
        let coverage: Option<&[Coverage]> = snapshot.map(|snapshot| snapshot.coverage.as_slice());
        let held: Vec<(u32, Option<i64>, u64)> = match coverage {
            Some(coverage) => coverage.iter().map(|of| (of.cpu, of.oldest_ns, of.overwritten)).collect(),
            None => {
                let stats = self.file.metadata.cpu_stats.iter();
                let oldest = |ns: Option<u64>| ns.and_then(|ns| i64::try_from(ns).ok());
                stats.map(|(cpu, stats)| (*cpu, oldest(stats.oldest_event_ts_ns), stats.overrun)).collect()
            }
        };
        let from_ns = match held.iter().find(|(known, ..)| *known == cpu) {
            Some((_, _, 0)) => held.iter().filter_map(|(_, oldest_ns, _)| *oldest_ns).min(),
            Some((_, oldest_ns, _)) => *oldest_ns,
            None => None,
        };
        let frozen_ns = snapshot.map(|snapshot| snapshot.frozen_ns);
        let to_ns = if damaged { i64::MIN } else { frozen_ns.unwrap_or(window.end_ns) };
        Covered { from_ns, to_ns, shown: Shown::ALL }
    }

    fn find_limits(&self, trace: &mut Trace<'_>, spike: &Spike, sample: SampleWord) {
        let window = trace.window;
        for activity in trace.cpus.iter().filter(|activity| !activity.lost_records.is_empty()) {
            let count: u64 = activity.lost_records.iter().filter_map(|lost| lost.lost).sum();
            trace.limits.push(Limit::EventsLost { cpu: activity.cpu, count: Some(count).filter(|count| *count > 0) });
        }
        for activity in trace.cpus.iter().filter(|activity| activity.switches_missing > 0) {
            let (count, inferred) = (activity.switches_missing, activity.inferred.len());
            trace.limits.push(Limit::SwitchesMissing { cpu: activity.cpu, count, inferred });
        }
        let cpu = spike.sample.cpu;
        match trace.cpu(cpu).and_then(|activity| activity.intervals.first()) {
            None => trace.limits.push(Limit::NothingOfCpu(cpu)),
            Some(first) if first.start_ns > window.due_ns => {
                trace.limits.push(Limit::StartsLate { cpu, late_ns: first.start_ns - window.due_ns, sample });
            }
            Some(_) => {}
        }
        let absent: Vec<String> = NEEDED_EVENTS
            .iter()
            .filter(|(system, name)| self.file.metadata.formats.find(system, name).is_none())
            .map(|(_, name)| (*name).to_owned())
            .collect();
        if !absent.is_empty() && self.has_records() {
            trace.limits.push(Limit::EventsAbsent(absent));
        }
    }
}

/// Events that another tool did not record, and the precision of the others.
fn limits_of_recorder(recorder: Recorder, shown: Shown) -> Vec<Limit> {
    let mut limits = Vec::new();
    if !shown.interrupts {
        limits.push(Limit::InterruptsNotRecorded);
    }
    if !shown.softirqs {
        limits.push(Limit::SoftirqsNotRecorded);
    }
    if let Some(Precision { resolution_ns, clock_spread_ns }) = recorder.precision() {
        limits.extend((resolution_ns > 1).then_some(Limit::TimesRounded(resolution_ns)));
        limits.extend((clock_spread_ns > 0).then_some(Limit::ClockConverted(clock_spread_ns)));
    }
    limits
}

/// Without these the phases cannot be distinguished.
const NEEDED_EVENTS: [(&str, &str); 5] = [
    ("sched", "sched_switch"),
    ("sched", "sched_waking"),
    ("sched", "sched_wakeup"),
    ("timer", "hrtimer_start"),
    ("timer", "hrtimer_expire_entry"),
];
