//! One look through a recording: its threads, its CPUs, and which events it has.

mod fields;
mod mark;

use crate::clock::{Clock, ClockPoints};
use fields::{Noted, Reader};
use ftrace::format::EventFormat;
use ftrace::page::GapKind;
use ftrace::trace_dat::{CpuRecords, PagedTrace, TraceItem};
pub use mark::Mark;
use std::collections::{BTreeMap, BTreeSet};
use wakeups::timer_functions::TimerFunctions;

/// More systems are not chosen by hand: a file that describes all that the kernel has.
const SYSTEMS_MAX: usize = 12;

/// Threads on a CPU without switches; more ran on CPUs that have some.
const SILENT_MAX: usize = 10_000;

/// A thread, as far as a recording shows it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ThreadFacts {
    /// Its last name.
    pub comm: String,
    /// Its last priority, the kernel's: below 100 is real-time.
    pub prio: Option<i32>,
    pub wake_ups: u64,
    /// Wake-ups with a real-time priority, and the last such priority.
    pub urgent: (u64, Option<i32>),
}

impl ThreadFacts {
    /// A thread may give its priority up before it ends, and another may have one lent for a moment.
    pub fn is_real_time(&self) -> bool {
        if self.wake_ups > 0 { self.urgent.0 * 2 >= self.wake_ups } else { self.prio.is_some_and(is_urgent) }
    }

    /// The priority with which it was woken, or its last one.
    pub fn priority(&self) -> Option<i32> {
        self.urgent.1.filter(|_| self.is_real_time()).or(self.prio)
    }

    fn wake(&mut self, prio: Option<i32>) {
        self.wake_ups += 1;
        if let Some(prio) = prio.filter(|prio| is_urgent(*prio)) {
            self.urgent = (self.urgent.0 + 1, Some(prio));
        }
    }
}

fn is_urgent(prio: i32) -> bool {
    prio < 100
}

/// The stretch that a CPU recorded, in ns of the trace clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CpuSpan {
    pub first_ns: i64,
    pub last_ns: i64,
    /// Events that are missing in between; at least.
    pub lost: u64,
}

/// The contents of a recording.
#[derive(Debug, Default)]
pub struct Survey {
    pub threads: BTreeMap<i32, ThreadFacts>,
    /// Without CPUs that recorded nothing.
    pub cpus: BTreeMap<u32, CpuSpan>,
    /// Numbers of the events that are taken as recorded: that one of them is absent shows something.
    pub recorded: BTreeSet<u16>,
    /// The same as system and name.
    pub events: BTreeSet<(String, String)>,
    pub functions: TimerFunctions,
    /// Threads that ran on a CPU whose switches are not recorded: nobody sees whether they run or sleep.
    pub ran_without_switches: BTreeSet<i32>,
    /// The last one.
    pub mark: Option<Mark>,
    pub clock: Clock,
    /// Of the machine; empty if unknown.
    pub architecture: String,
}

/// A survey while it reads.
struct Surveying<'s> {
    survey: &'s mut Survey,
    reader: Reader,
    points: ClockPoints,
    /// Numbers of the events that occurred.
    occurred: Vec<bool>,
    /// The function of the timer that is being handled on a CPU.
    open_timer: Option<(u32, u64)>,
    /// Functions of timers that woke a thread.
    wakers: BTreeSet<u64>,
    /// The CPU that is read, and the threads that ran on it until it has a switch.
    silent: (u32, Option<BTreeSet<i32>>),
}

impl Surveying<'_> {
    /// Before the events of another CPU.
    fn end_cpu(&mut self, next: u32) {
        self.survey.ran_without_switches.extend(self.silent.1.take().into_iter().flatten());
        self.silent = (next, Some(BTreeSet::new()));
    }

    fn read(&mut self, cpu: u32, records: CpuRecords<'_>) {
        let mut span: Option<CpuSpan> = self.survey.cpus.get(&cpu).copied();
        if self.silent.0 != cpu {
            self.end_cpu(cpu);
        }
        self.open_timer = self.open_timer.filter(|(of, _)| *of == cpu);
        for item in records {
            extend_span(&mut span, &item);
            let TraceItem::Record(record) = item else { continue };
            let Some(noted) = self.reader.noted(&record) else { continue };
            if let Some(threads) = &mut self.silent.1
                && threads.len() < SILENT_MAX
            {
                threads.insert(record.common_pid);
            }
            if let Some(occurred) = self.occurred.get_mut(usize::from(record.id)) {
                *occurred = true;
            }
            match noted {
                Noted::Switch(threads) => {
                    threads.into_iter().for_each(|named| self.survey.name(named));
                    self.silent.1 = None;
                }
                Noted::Waking(named) => {
                    self.wakers.extend(self.open_timer.map(|(_, function)| function));
                    self.survey.threads.entry(named.tid).or_default().wake(named.prio);
                    self.survey.name(named);
                }
                Noted::Expiry(expiry) => {
                    self.open_timer = Some((cpu, expiry.function));
                    self.points.add(cpu, record.ts_ns as i64, expiry.now_ns);
                }
                Noted::ExpiryEnd => self.open_timer = None,
                Noted::Mark(text) => {
                    let later = |mark: &Mark| self.survey.mark.is_none_or(|known| known.ts_ns <= mark.ts_ns);
                    self.survey.mark = Mark::of(&text, &record).filter(later).or(self.survey.mark);
                }
                Noted::Other => {}
            }
        }
        self.survey.cpus.extend(span.map(|span| (cpu, span)));
    }
}

fn extend_span(span: &mut Option<CpuSpan>, item: &TraceItem<'_>) {
    let ts_ns = i64::try_from(item.ts_ns()).unwrap_or(i64::MAX);
    let span = span.get_or_insert(CpuSpan { first_ns: ts_ns, last_ns: ts_ns, lost: 0 });
    span.last_ns = span.last_ns.max(ts_ns);
    if let TraceItem::Gap(gap) = item {
        let count = if let GapKind::Lost { count } = gap.kind { count.unwrap_or(1) } else { 1 };
        span.lost = span.lost.saturating_add(count);
    }
}

impl Survey {
    pub fn of(file: &mut PagedTrace<'_>) -> Self {
        let mut survey = Self { functions: functions(file), ..Self::default() };
        let mut surveying = Surveying {
            reader: Reader::new(&file.metadata.formats),
            survey: &mut survey,
            points: ClockPoints::default(),
            occurred: vec![false; usize::from(u16::MAX) + 1],
            open_timer: None,
            wakers: BTreeSet::new(),
            silent: (u32::MAX, None),
        };
        file.read_through(|cpu, records| surveying.read(cpu, records));
        surveying.end_cpu(u32::MAX);
        let Surveying { points, occurred, wakers, .. } = surveying;
        survey.recorded = (0..=u16::MAX).filter(|id| occurred[usize::from(*id)]).collect();
        survey.extend_recorded(file);
        survey.drop_halves(file);
        survey.name_threads(file);
        survey.clock = points.clock(&file.metadata.clock);
        survey.learn_functions(&wakers);
        let uname = file.metadata.uname.trim_end_matches('\0');
        survey.architecture = uname.split_whitespace().last().unwrap_or_default().to_owned();
        survey
    }

    /// The stretch that any CPU recorded.
    pub fn span(&self) -> Option<(i64, i64)> {
        let first_ns = self.cpus.values().map(|cpu| cpu.first_ns).min()?;
        Some((first_ns, self.cpus.values().map(|cpu| cpu.last_ns).max()?))
    }

    pub fn has(&self, system: &str, name: &str) -> bool {
        self.events.contains(&(system.to_owned(), name.to_owned()))
    }

    pub fn has_system(&self, system: &str) -> bool {
        self.events.iter().any(|(known, _)| known == system)
    }

    fn name(&mut self, named: fields::Named<'_>) {
        let facts = self.threads.entry(named.tid).or_default();
        facts.prio = named.prio.or(facts.prio);
        if facts.comm.as_bytes() != named.comm && !named.comm.is_empty() {
            facts.comm = String::from_utf8_lossy(named.comm).into_owned();
        }
    }

    /// trace-cmd describes only the events that it records, unless it records none itself. So of a system with one event that occurred
    /// all that are described were recorded.
    fn extend_recorded(&mut self, file: &PagedTrace<'_>) {
        let formats = &file.metadata.formats;
        let systems: BTreeSet<&str> = formats.iter().map(|format| format.system.as_str()).collect();
        if systems.len() <= SYSTEMS_MAX {
            let occurred = self.recorded.iter().filter_map(|id| formats.by_id(*id));
            let occurred: BTreeSet<&str> = occurred.map(|format| format.system.as_str()).collect();
            let described = formats.iter().filter(|format| occurred.contains(format.system.as_str()));
            self.recorded.extend(described.map(|format| format.id));
        }
        let named = |format: &EventFormat| (format.system.clone(), format.name.clone());
        self.events = self.recorded.iter().filter_map(|id| formats.by_id(*id)).map(named).collect();
    }

    /// An interrupt whose end is not recorded seems to last, and one whose beginning is not recorded shows nothing.
    fn drop_halves(&mut self, file: &PagedTrace<'_>) {
        let half = |name: &str| {
            let [entry, exit] = ["_entry", "_exit"].map(|end| name.strip_suffix(end));
            entry.map(|name| format!("{name}_exit")).or_else(|| exit.map(|name| format!("{name}_entry")))
        };
        let is_alone = |(system, name): &&(String, String)| {
            let other = half(name).filter(|_| system.starts_with("irq"));
            other.is_some_and(|other| !self.has(system, &other))
        };
        let alone: Vec<(String, String)> = self.events.iter().filter(is_alone).cloned().collect();
        for (system, name) in alone {
            let number = file.metadata.formats.find(&system, &name).map(|format| format.id);
            self.recorded.retain(|id| Some(*id) != number);
            self.events.remove(&(system, name));
        }
    }

    fn name_threads(&mut self, file: &PagedTrace<'_>) {
        for (tid, facts) in self.threads.iter_mut().filter(|(_, facts)| facts.comm.is_empty()) {
            facts.comm = file.metadata.command_lines.name(*tid).unwrap_or_default().to_owned();
        }
    }

    /// Where the recording names no functions, each timer that woke a thread ends a sleep.
    fn learn_functions(&mut self, wakers: &BTreeSet<u64>) {
        if self.functions.sleep == 0 && self.functions.timer_file == 0 && self.functions.posix_timer == 0 {
            let mut wakers = wakers.iter().copied().filter(|function| *function != 0);
            let mut next = || wakers.next().unwrap_or(0);
            self.functions = TimerFunctions { sleep: next(), timer_file: next(), posix_timer: next(), by_name: false };
        }
    }
}

/// The functions of timers that end a sleep, by the names of the recording.
fn functions(file: &PagedTrace<'_>) -> TimerFunctions {
    let mut functions = TimerFunctions::default();
    file.metadata.symbols.iter().for_each(|(address, name)| functions.learn(name, address));
    functions
}
