//! A recording as chains need it: what each thread did, what woke it, and what had each CPU.

use crate::event_name::EventName;
use crate::life::{Life, State, Wake};
use crate::waker::Wakers;
use archive::chain::ChainLimit;
use explain::decode::Decoder;
use explain::event::{Event, EventKind};
use explain::names::Names;
use explain::recorder::{Precision, Recorder, Shown};
use explain::timeline::{Interval, Replay};
use explain::window::Window;
use ftrace::page::GapKind;
use ftrace::trace_dat::{PagedTrace, TraceItem};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ops::RangeInclusive;

/// About 4 GiB of memory, with the intervals that they make.
pub const EVENTS_MAX: u64 = 40_000_000;

/// Events without which a chain cannot be followed, or only as far as the comment says.
const NEEDED: [(&str, &str); 5] = [
    ("sched", "sched_switch"),
    ("sched", "sched_waking"),
    // Wake-ups by interrupts and softirqs have no origin.
    ("irq", "irq_handler_entry"),
    ("irq", "softirq_entry"),
    // A timer wakes without the instant that it was set for.
    ("timer", "hrtimer_expire_entry"),
];

/// Events that show who raised a softirq and who queued a work item. Without them a hand-over by UDP or by a work queue has no origin.
pub(crate) const HAND_OVERS: [(&str, &str); 2] = [("irq", "softirq_raise"), ("workqueue", "workqueue_queue_work")];

/// A text that a thread wrote to `trace_marker`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Marker {
    pub ts_ns: i64,
    pub tid: i32,
    pub text: String,
}

/// A declared event, and the thread that caused it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Occurrence {
    pub ts_ns: i64,
    pub tid: i32,
}

/// The contents of a recording.
#[derive(Debug, Default)]
pub struct Recorded {
    pub(crate) threads: HashMap<i32, Life>,
    pub(crate) cpus: BTreeMap<u32, Vec<Interval>>,
    pub(crate) names: Names,
    /// Ascending by CPU.
    pub(crate) missing: HashMap<u32, Vec<MissingSwitch>>,
    /// In order of time.
    pub(crate) markers: Vec<Marker>,
    /// Of the declared events that the recorder knew, in order of time.
    pub(crate) occurrences: HashMap<EventName, Vec<Occurrence>>,
    /// Of the last event.
    pub(crate) ended_ns: i64,
    pub(crate) limits: Vec<ChainLimit>,
    pub(crate) events: u64,
}

impl Recorded {
    /// A snapshot that cannot be read.
    pub fn unreadable(why: String) -> Self {
        Self { limits: vec![ChainLimit::Damaged(why)], ..Self::default() }
    }

    /// Number of events that were read.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// Reads a recording twice: its pages once, then its events in order of time. `declared`: the events that begin or end chains.
    pub fn of(file: &mut PagedTrace<'_>, declared: &BTreeSet<EventName>) -> Self {
        Self::within(file, declared, EVENTS_MAX, i64::MIN..=i64::MAX)
    }

    /// The same of the events in a span, with at most this many.
    pub fn within(
        file: &mut PagedTrace<'_>,
        declared: &BTreeSet<EventName>,
        events_max: u64,
        span: RangeInclusive<i64>,
    ) -> Self {
        file.read_through(|_, _| {});
        let decoder = Decoder::new(&file.metadata);
        let format = |event: &EventName| file.metadata.formats.find(event.group(), event.name());
        let declared: Vec<(u16, EventName)> =
            declared.iter().filter_map(|event| Some((format(event)?.id, event.clone()))).collect();
        let precise = Precision { resolution_ns: 1, clock_spread_ns: 0 };
        let shown = Shown::of(Recorder::Foreign(precise), &file.metadata.formats, None);
        let is_mono = file.metadata.clock.is_empty() || file.metadata.clock == "mono";
        let mut reading = Reading::new(shown, is_mono);
        reading.recorded.occurrences = declared.iter().map(|(_, event)| (event.clone(), Vec::new())).collect();
        'all: for (from_ns, to_ns) in file.slices() {
            for item in file.window(from_ns, to_ns).merged() {
                if !span.contains(&i64::try_from(item.ts_ns()).unwrap_or(i64::MAX)) {
                    continue;
                }
                match item {
                    TraceItem::Record(record) => {
                        let event = decoder.event(&record);
                        decoder.learn(&event, &mut reading.recorded.names, &file.metadata, i64::MAX);
                        if let Some(text) = decoder.marker(&event) {
                            reading.mark(&event, text);
                        }
                        for (_, named) in declared.iter().filter(|(id, _)| *id == event.id) {
                            reading.occur(&event, named);
                        }
                        reading.feed(&event);
                    }
                    TraceItem::Gap(gap) => {
                        let count = if let GapKind::Lost { count } = gap.kind { count.unwrap_or(1) } else { 1 };
                        reading.lose(gap.cpu, count);
                    }
                }
                if reading.events >= events_max {
                    break 'all;
                }
            }
        }
        let is_cut = reading.events >= events_max;
        let mut recorded = reading.finish();
        recorded.limits.extend(is_cut.then_some(ChainLimit::RecordingCut { events: recorded.events }));
        let tids: Vec<i32> = recorded.threads.keys().copied().collect();
        recorded.names.learn_from_command_lines(tids.into_iter(), &file.metadata);
        for interval in recorded.cpus.values().flatten() {
            recorded.names.learn_function(interval.context.function().unwrap_or(0), &file.metadata);
        }
        let absent = NEEDED
            .iter()
            .chain(&HAND_OVERS)
            .filter(|(system, name)| file.metadata.formats.find(system, name).is_none());
        let absent: Vec<String> = absent.map(|(system, name)| format!("{system}:{name}")).collect();
        recorded.limits.extend((!absent.is_empty()).then_some(ChainLimit::EventsAbsent(absent)));
        recorded.limits.extend((!is_mono).then(|| ChainLimit::ClockNotMono(file.metadata.clock.to_string())));
        recorded.limits.extend(file.gaps.iter().map(|gap| ChainLimit::Damaged(gap.to_string())));
        recorded
    }

    /// The same from events in order of time.
    pub fn of_events<'e>(events: impl IntoIterator<Item = Event<'e>>, names: Names) -> Self {
        let mut reading = Reading::new(Shown::ALL, true);
        reading.recorded.names = names;
        events.into_iter().for_each(|event| reading.feed(&event));
        reading.finish()
    }

    /// Markers that begin with a text, in order of time.
    pub(crate) fn marked(&self, text: &str) -> Vec<Occurrence> {
        let marked = self.markers.iter().filter(|marker| marker.text.starts_with(text));
        marked.map(|marker| Occurrence { ts_ns: marker.ts_ns, tid: marker.tid }).collect()
    }

    /// Occurrences of a declared event, in order of time.
    pub(crate) fn occurred(&self, event: &EventName) -> Vec<Occurrence> {
        self.occurrences.get(event).cloned().unwrap_or_default()
    }

    /// The part of a CPU's intervals that overlaps `start_ns..end_ns`.
    pub(crate) fn intervals(&self, cpu: u32, start_ns: i64, end_ns: i64) -> &[Interval] {
        let intervals = self.cpus.get(&cpu).map_or(&[][..], Vec::as_slice);
        let first = intervals.partition_point(|interval| interval.end_ns <= start_ns);
        let last = intervals.partition_point(|interval| interval.start_ns < end_ns);
        intervals.get(first..last).unwrap_or(&[])
    }

    /// The last record of idle, if every switch that a CPU does not show in a stretch is from idle to this thread. Some kernels do not record
    /// the switch away from idle, and record each other one: no third thread can have had the CPU between them.
    pub(crate) fn left_idle_ns(&self, cpu: u32, tid: i32, start_ns: i64, end_ns: i64) -> Option<i64> {
        let missing = self.missing.get(&cpu).map_or(&[][..], Vec::as_slice);
        let first = missing.partition_point(|missing| missing.by_ns <= start_ns);
        let last = missing.partition_point(|missing| missing.after_ns < end_ns);
        let within = missing.get(first..last).unwrap_or(&[]);
        let is_known = within.iter().all(|missing| (missing.from, missing.to) == (0, tid));
        within.first().filter(|_| is_known).map(|missing| missing.after_ns)
    }
}

/// A switch that was not recorded, between two records of a CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MissingSwitch {
    after_ns: i64,
    by_ns: i64,
    from: i32,
    to: i32,
}

/// All of time.
const EVER: Window = Window { due_ns: 0, seen_ns: i64::MAX, start_ns: 0, end_ns: i64::MAX, lookback_ns: 0 };

/// A recording while it is read.
struct Reading {
    recorded: Recorded,
    replays: BTreeMap<u32, Replay>,
    wakers: Wakers,
    shown: Shown,
    events: u64,
    lost: u64,
    /// Threads whose state is known.
    known: HashSet<i32>,
    /// The thread that a CPU executes, and its last record.
    on_cpu: HashMap<u32, (i32, i64)>,
}

impl Reading {
    fn new(shown: Shown, due_times_are_known: bool) -> Self {
        let wakers = Wakers::new(due_times_are_known);
        let (recorded, replays) = (Recorded::default(), BTreeMap::new());
        Self { recorded, replays, wakers, shown, events: 0, lost: 0, known: HashSet::new(), on_cpu: HashMap::new() }
    }

    fn replay(&mut self, cpu: u32) -> &mut Replay {
        let shown = self.shown;
        // No thread is the measuring one.
        self.replays.entry(cpu).or_insert_with(|| {
            let mut replay = Replay::new(EVER, None, -1);
            replay.shown = shown;
            replay
        })
    }

    fn feed(&mut self, event: &Event<'_>) {
        // Only for hostile input: the kernel's stamps are not negative and do not go back.
        let ts_ns = event.ts_ns.max(self.recorded.ended_ns);
        let event = &Event { ts_ns, ..*event };
        self.recorded.ended_ns = ts_ns;
        self.events += 1;
        self.replay(event.cpu).feed(event);
        self.wakers.feed(event);
        self.follow_switches(event);
        match event.what {
            EventKind::Switch { prev, prev_prio, prev_state, next, next_prio } => {
                self.enter(prev, event, State::left_in(prev_state), prev_prio, None);
                self.enter(next, event, State::Running, next_prio, None);
            }
            EventKind::Waking { tid, prio, target_cpu } => self.wake(tid, event, prio, target_cpu),
            EventKind::Wakeup { tid, prio, target_cpu } => {
                let life = self.recorded.threads.get(&tid);
                match life.and_then(Life::state) {
                    // Its waking was recorded.
                    Some(State::Runnable) => self.place(tid, event, target_cpu),
                    Some(State::Running) => {}
                    _ => self.wake(tid, event, prio, target_cpu),
                }
            }
            EventKind::Migrate { tid, to_cpu, .. } => self.place(tid, event, to_cpu),
            _ => {}
        }
    }

    fn follow_switches(&mut self, event: &Event<'_>) {
        if event.is_function() {
            return;
        }
        let (to, next) = match event.what {
            EventKind::Switch { prev, next, .. } => (prev, next),
            _ => (event.tid, event.tid),
        };
        let before = self.on_cpu.insert(event.cpu, (next, event.ts_ns));
        if let Some((from, after_ns)) = before.filter(|(from, _)| *from != to) {
            let missing = self.recorded.missing.entry(event.cpu).or_default();
            missing.push(MissingSwitch { after_ns, by_ns: event.ts_ns, from, to });
        }
    }

    fn enter(&mut self, tid: i32, event: &Event<'_>, state: State, prio: Option<i32>, wake: Option<usize>) {
        if tid > 0 {
            self.known.insert(tid);
            self.recorded.threads.entry(tid).or_default().enter(event.ts_ns, event.cpu, state, prio, wake);
        }
    }

    fn wake(&mut self, tid: i32, event: &Event<'_>, prio: Option<i32>, target_cpu: i32) {
        if tid <= 0 {
            return;
        }
        let by = self.wakers.of(event, self.recorded.names.comm(tid));
        let life = self.recorded.threads.entry(tid).or_default();
        life.wakes.push(Wake { ts_ns: event.ts_ns, cpu: event.cpu, by });
        if !matches!(life.state(), Some(State::Running | State::Runnable)) {
            let cpu = u32::try_from(target_cpu).unwrap_or(event.cpu);
            let wake = Some(life.wakes.len() - 1);
            life.enter(event.ts_ns, cpu, State::Runnable, prio, wake);
            self.known.insert(tid);
        }
    }

    /// A runnable thread is moved to another CPU.
    fn place(&mut self, tid: i32, event: &Event<'_>, to_cpu: i32) {
        if let (Some(life), Ok(cpu)) = (self.recorded.threads.get_mut(&tid), u32::try_from(to_cpu))
            && life.state() == Some(State::Runnable)
        {
            life.enter(event.ts_ns, cpu, State::Runnable, None, None);
        }
    }

    fn mark(&mut self, event: &Event<'_>, text: &str) {
        let ts_ns = event.ts_ns.max(self.recorded.ended_ns);
        self.recorded.markers.push(Marker { ts_ns, tid: event.tid, text: text.to_owned() });
    }

    fn occur(&mut self, event: &Event<'_>, named: &EventName) {
        let ts_ns = event.ts_ns.max(self.recorded.ended_ns);
        let occurrences = self.recorded.occurrences.get_mut(named);
        occurrences.into_iter().for_each(|known| known.push(Occurrence { ts_ns, tid: event.tid }));
    }

    /// After a gap it is unknown what any thread does.
    fn lose(&mut self, cpu: u32, count: u64) {
        self.lost = self.lost.saturating_add(count);
        self.replay(cpu).gap();
        self.wakers.lose(cpu);
        self.on_cpu.remove(&cpu);
        let ts_ns = self.recorded.ended_ns;
        for tid in self.known.drain() {
            if let Some(life) = self.recorded.threads.get_mut(&tid) {
                life.enter(ts_ns, cpu, State::Unknown, None, None);
            }
        }
    }

    fn finish(self) -> Recorded {
        let Self { mut recorded, replays, lost, events, .. } = self;
        let ended_ns = recorded.ended_ns;
        recorded.threads.values_mut().for_each(|life| life.finish(ended_ns));
        recorded.cpus = replays.into_iter().map(|(cpu, replay)| (cpu, replay.finish(ended_ns))).collect();
        recorded.limits.extend((lost > 0).then_some(ChainLimit::EventsLost(lost)));
        recorded.events = events;
        recorded
    }
}
