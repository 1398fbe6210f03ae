//! One look through a recording: its threads, its CPUs, and which events it has.

mod fields;
mod mark;

use crate::clock::{Clock, ClockPoints};
use fields::{Named, Noted, Reader};
use ftrace::event_set::EventSet;
use ftrace::format::EventFormat;
use ftrace::page::GapKind;
use ftrace::trace_dat::{CpuRecords, PagedTrace, TraceItem};
pub use mark::Mark;
use std::collections::{BTreeMap, BTreeSet};
use wakeups::by_tid::ByTid;
use wakeups::timer_functions::TimerFunctions;

/// More systems are not chosen by hand: a file that describes all that the kernel has.
const SYSTEMS_MAX: usize = 12;

/// With more forks, any thread may descend from a followed one.
const FORKS_MAX: usize = 1 << 16;

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
    /// Instant of the record with its last name: the CPUs are read one after the other.
    named_ns: u64,
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

    fn wake(&mut self, named: &Named<'_>, ts_ns: u64) {
        self.wake_ups += 1;
        if let Some(prio) = named.prio.filter(|prio| is_urgent(*prio)) {
            let is_last = ts_ns >= self.named_ns || self.urgent.1.is_none();
            self.urgent = (self.urgent.0 + 1, if is_last { Some(prio) } else { self.urgent.1 });
        }
        self.learn(named, ts_ns);
    }

    fn learn(&mut self, named: &Named<'_>, ts_ns: u64) {
        if ts_ns < self.named_ns {
            return;
        }
        self.named_ns = ts_ns;
        self.prio = named.prio.or(self.prio);
        if !named.is_named(&self.comm) && !named.comm().is_empty() {
            self.comm = String::from_utf8_lossy(named.comm()).into_owned();
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
    /// Threads with the thread that started them, as far as they were counted.
    forks: Vec<(i32, i32)>,
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
    threads: ByTid<ThreadFacts>,
    /// Events that are read, and described ones that did not occur yet.
    wanted: EventSet,
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
        // Before the first switch any record shows a thread that ran.
        let mut records = if self.silent.1.is_some() { records } else { records.only(&self.wanted) };
        let mut new: Vec<u16> = Vec::new();
        for item in &mut records {
            extend_span(&mut span, &item);
            let TraceItem::Record(record) = item else { continue };
            let Some(noted) = self.reader.noted(&record) else { continue };
            if let Some(threads) = &mut self.silent.1
                && threads.len() < SILENT_MAX
            {
                threads.insert(record.common_pid);
            }
            if let Some(occurred) = self.occurred.get_mut(usize::from(record.id))
                && !*occurred
            {
                *occurred = true;
                new.push(record.id);
            }
            match noted {
                Noted::Switch(threads) => {
                    for named in &threads {
                        self.threads.entry(named.tid).or_default().learn(named, record.ts_ns);
                    }
                    self.silent.1 = None;
                }
                Noted::Waking(named) => {
                    self.wakers.extend(self.open_timer.map(|(_, function)| function));
                    self.threads.entry(named.tid).or_default().wake(&named, record.ts_ns);
                }
                Noted::Expiry(expiry) => {
                    self.open_timer = Some((cpu, expiry.function));
                    self.points.add(cpu, record.ts_ns as i64, expiry.now_ns);
                }
                Noted::ExpiryEnd => self.open_timer = None,
                Noted::Fork { parent, child } => {
                    if self.survey.forks.len() <= FORKS_MAX {
                        self.survey.forks.push((parent, child));
                    }
                }
                Noted::Mark(text) => {
                    let later = |mark: &Mark| self.survey.mark.is_none_or(|known| known.ts_ns <= mark.ts_ns);
                    self.survey.mark = Mark::of(&text, &record).filter(later).or(self.survey.mark);
                }
                Noted::Other => {}
            }
        }
        if let Some(span) = &mut span {
            span.last_ns = span.last_ns.max(instant(records.latest_ns()));
        }
        new.into_iter().filter(|id| self.reader.is_other(*id)).for_each(|id| self.wanted.remove(id));
        self.survey.cpus.extend(span.map(|span| (cpu, span)));
    }
}

fn instant(ts_ns: u64) -> i64 {
    i64::try_from(ts_ns).unwrap_or(i64::MAX)
}

fn extend_span(span: &mut Option<CpuSpan>, item: &TraceItem<'_>) {
    let ts_ns = instant(item.ts_ns());
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
        let reader = Reader::new(&file.metadata.formats);
        let mut surveying = Surveying {
            wanted: reader.described(),
            reader,
            threads: ByTid::default(),
            survey: &mut survey,
            points: ClockPoints::default(),
            occurred: vec![false; usize::from(u16::MAX) + 1],
            open_timer: None,
            wakers: BTreeSet::new(),
            silent: (u32::MAX, None),
        };
        file.read_through(|cpu, records| surveying.read(cpu, records));
        surveying.end_cpu(u32::MAX);
        let Surveying { points, occurred, wakers, threads, .. } = surveying;
        survey.threads = threads.into_iter().collect();
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

    /// These threads and all that they started, in the recording; `None` if there are too many.
    pub fn with_descendants(&self, tids: &[i32]) -> Option<BTreeSet<i32>> {
        if self.forks.len() > FORKS_MAX {
            return None;
        }
        let mut children: BTreeMap<i32, Vec<i32>> = BTreeMap::new();
        for (parent, child) in &self.forks {
            children.entry(*parent).or_default().push(*child);
        }
        let (mut found, mut next) = (BTreeSet::new(), tids.to_vec());
        while let Some(tid) = next.pop() {
            if found.insert(tid) {
                next.extend(children.get(&tid).into_iter().flatten());
            }
        }
        Some(found)
    }

    pub fn has(&self, system: &str, name: &str) -> bool {
        self.events.contains(&(system.to_owned(), name.to_owned()))
    }

    pub fn has_system(&self, system: &str) -> bool {
        self.events.iter().any(|(known, _)| known == system)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_name_is_the_one_of_the_last_record_whichever_cpu_has_it() {
        let named = |comm: &'static [u8], prio| Named { tid: 7, field: comm, prio: Some(prio) };
        let mut thread = ThreadFacts::default();
        thread.wake(&named(b"periods\0", 89), 2000);
        thread.wake(&named(b"tardy-meter\0", 120), 1000);
        thread.learn(&named(b"tardy-meter\0", 120), 1500);
        assert_eq!((thread.comm.as_str(), thread.prio, thread.wake_ups), ("periods", Some(89), 2));
        thread.wake(&named(b"robot\0", 70), 3000);
        assert_eq!((thread.comm.as_str(), thread.urgent), ("robot", (2, Some(70))));
    }

    #[test]
    fn the_descendants_of_a_thread_are_those_that_it_and_its_children_started() {
        // In the order of their CPUs: a child may come before its parent.
        let mut survey = Survey { forks: vec![(2, 3), (1, 2), (8, 9), (3, 1)], ..Survey::default() };
        assert_eq!(survey.with_descendants(&[1]), Some([1, 2, 3].into()));
        assert_eq!(survey.with_descendants(&[9]), Some([9].into()));
        survey.forks = vec![(1, 2); FORKS_MAX + 1];
        assert_eq!(survey.with_descendants(&[1]), None);
    }
}
