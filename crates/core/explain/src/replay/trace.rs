//! The window of a trace: the activity of each CPU, and the limits of that knowledge.

#[cfg(test)]
pub mod idle_cpus;

use crate::read::event::{Event, EventKind, Vector, flag};
use crate::read::names::Names;
use crate::read::window::Window;
use crate::recorder::Shown;
use crate::replay::charge_points::{Charge, ChargePoints};
use crate::replay::priorities::Priorities;
use crate::replay::thread_life::{LifeSpan, life};
use crate::replay::timeline::inferred::Inferred;
use crate::replay::timeline::{Interval, Replay};
use crate::replay::timer_deferral::{Deferral, TimerInterrupts};
use archive::caveat::Limit;
use archive::spike::LateInterrupt;
use std::collections::{HashSet, VecDeque};

/// Due timers stored per CPU; a wake-up during which more are due is long enough for other proofs.
const DUE_TIMERS_MAX: usize = 256;
/// Events before the window that are kept per kind; the last ones are kept.
const PRECEDING_MAX: usize = 256;

/// One item of a CPU's record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordItem<'a> {
    Event(Event<'a>),
    /// Records are missing between the events before and after; their number, if known.
    Gap {
        ts_ns: i64,
        lost: Option<u64>,
    },
}

/// The stretch for which the recorder would have shown events of a CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Covered {
    /// `None`: only events themselves prove it.
    pub from_ns: Option<i64>,
    pub to_ns: i64,
    pub shown: Shown,
}

/// Where records of a CPU are missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LostRecords {
    pub ts_ns: i64,
    pub lost: Option<u64>,
}

/// The last events before the window that determine the state at its start.
#[derive(Debug, Default)]
pub struct PrecedingEvents<'a> {
    pub switch: Option<Event<'a>>,
    /// Switch away from the measuring thread: why it left the CPU.
    pub own_left: Option<Event<'a>>,
    /// All scheduler events of the measuring thread, and the timers that it started.
    pub own: VecDeque<Event<'a>>,
    /// Actions of tasks on other threads: inherited priorities, signals, frozen control groups.
    pub interventions: VecDeque<Event<'a>>,
    /// Entries of the interrupts that are open when the window begins, outermost first.
    pub open_interrupts: Vec<Event<'a>>,
    pub interrupt: Option<Event<'a>>,
    pub idle: Option<Event<'a>>,
    pub work: Option<Event<'a>>,
    /// The last event outside of interrupts, if it is a message of the kernel: consoles may be written from then on.
    pub message: Option<Event<'a>>,
}

impl<'a> PrecedingEvents<'a> {
    pub fn events(&self) -> impl Iterator<Item = Event<'a>> {
        [self.switch, self.own_left, self.interrupt, self.idle, self.work, self.message].into_iter().flatten()
    }

    /// Events that show the states of threads and their priorities.
    fn of_threads(&self) -> impl Iterator<Item = Event<'a>> {
        self.own.iter().chain(&self.interventions).chain(&self.switch).copied()
    }

    #[inline]
    fn keep(&mut self, event: Event<'a>, own_tid: i32) {
        if event.flags & (flag::HARDIRQ | flag::SOFTIRQ | flag::NMI) == 0 {
            self.message = (event.what == EventKind::Message).then_some(event);
        }
        let keep = |events: &mut VecDeque<Event<'a>>| {
            if events.len() >= PRECEDING_MAX {
                events.pop_front();
            }
            events.push_back(event);
        };
        match event.what {
            EventKind::Switch { prev, next, .. } => {
                self.switch = Some(event);
                self.open_interrupts.clear();
                if prev == own_tid {
                    self.own_left = Some(event);
                }
                if prev == own_tid || next == own_tid {
                    keep(&mut self.own);
                }
            }
            EventKind::Waking { tid, .. } | EventKind::Wakeup { tid, .. } | EventKind::Migrate { tid, .. }
                if tid == own_tid =>
            {
                keep(&mut self.own);
            }
            EventKind::HrtimerStart { .. } if event.tid == own_tid => keep(&mut self.own),
            EventKind::PiSetPrio { .. } | EventKind::Signal { .. } | EventKind::Freeze { .. } => {
                keep(&mut self.interventions)
            }
            EventKind::VectorEntry { .. } => self.open_interrupts.push(event),
            EventKind::VectorExit { .. } | EventKind::IrqExit { .. } => {
                self.open_interrupts.pop();
            }
            EventKind::IrqEntry { .. } => {
                self.interrupt = Some(event);
                self.open_interrupts.push(event);
            }
            EventKind::Idle { .. } => self.idle = Some(event),
            EventKind::WorkStart { .. } => self.work = Some(event),
            _ => {}
        }
    }
}

/// A timer that was due while the measuring thread waited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DueTimer {
    pub timer: u64,
    pub started_ns: i64,
    pub expires_ns: i64,
    /// `None` if it did not expire in the window.
    pub fired_ns: Option<i64>,
}

/// An instant at which a CPU recorded something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    pub ts_ns: i64,
    /// From here on the CPU is in an interrupt, or about to enter one.
    pub interrupted: bool,
}

/// The callers at one instant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stack {
    pub ts_ns: i64,
    pub tid: i32,
    /// Addresses, innermost first.
    pub callers: Vec<u64>,
}

impl Stamp {
    pub fn of(event: &Event) -> Self {
        let exits = matches!(
            event.what,
            EventKind::VectorExit { .. } | EventKind::IrqExit { .. } | EventKind::SoftirqExit { .. }
        );
        let inside = event.flags & (flag::HARDIRQ | flag::SOFTIRQ | flag::NMI) != 0;
        Self { ts_ns: event.ts_ns, interrupted: event.is_interrupt_entry() || (inside && !exits) }
    }
}

/// The activity of one CPU in the window.
#[derive(Debug, Default)]
pub struct CpuActivity<'a> {
    pub cpu: u32,
    /// Ascending.
    pub events: Vec<Event<'a>>,
    pub intervals: Vec<Interval>,
    pub lost_records: Vec<LostRecords>,
    /// Thread switches that must have happened and were not recorded.
    pub switches_missing: u64,
    /// Intervals assigned to a task by inference, because the switch to it was not recorded. Ascending.
    pub inferred: Vec<Inferred>,
    pub before: PrecedingEvents<'a>,
    /// Timer starts that may have armed the wake-up, at any time.
    pub arms: Vec<Event<'a>>,
    /// Stretches in which the kernel had deferred the timer interrupt. Ascending.
    pub deferrals: Vec<Deferral>,
    /// Timers started on this CPU that were due between due and seen, of any owner.
    pub due_timers: Vec<DueTimer>,
    /// Events that show the charges of threads, including the stretch before the window. Ascending.
    pub charges: Vec<Charge>,
    /// Instants before the window at which the CPU recorded something. Ascending.
    pub stamps_before: Vec<Stamp>,
    /// Stack traces of the window: time, thread, and the callers' addresses, innermost first.
    pub stacks: Vec<Stack>,
    /// Late timer interrupts as the kernel recorded them beside the trace. Ascending.
    pub late_interrupts: Vec<LateInterrupt>,
    /// Whether there are functions or stack traces among the events.
    pub has_functions: bool,
    /// Events read, including those before the window.
    pub events_read: u64,
}

impl<'a> CpuActivity<'a> {
    /// Replays a CPU. `own_tid` is the measuring thread, which is known to have had this CPU at `own_seen_ns`.
    pub fn read(
        cpu: u32,
        items: impl Iterator<Item = RecordItem<'a>>,
        window: Window,
        covered: Covered,
        (own_tid, own_seen_ns): (i32, Option<i64>),
    ) -> Self {
        let mut activity = CpuActivity { cpu, ..CpuActivity::default() };
        let mut replay = Replay::new(window, covered.from_ns, own_tid).with_own_seen(own_seen_ns);
        replay.shown = covered.shown;
        let (mut timer_interrupts, mut charge_points) = (TimerInterrupts::default(), ChargePoints::default());
        let mut last_ns = i64::MIN;
        for moment in items {
            match moment {
                RecordItem::Event(mut event) => {
                    // Only for hostile input: the kernel's stamps of one CPU never go back.
                    event.ts_ns = event.ts_ns.max(last_ns);
                    last_ns = event.ts_ns;
                    activity.events_read += 1;
                    replay.feed(&event);
                    charge_points.feed(&event);
                    timer_interrupts.feed(&event, window);
                    activity.keep(event, window, own_tid);
                }
                RecordItem::Gap { ts_ns, lost } => {
                    replay.gap();
                    timer_interrupts.gap();
                    activity.before.open_interrupts.clear();
                    charge_points.lose(ts_ns.max(last_ns));
                    if (window.start_ns..=window.end_ns).contains(&ts_ns) {
                        activity.lost_records.push(LostRecords { ts_ns, lost });
                    }
                }
            }
        }
        activity.deferrals = timer_interrupts.deferrals();
        activity.switches_missing = replay.switches_missing();
        activity.inferred = replay.inferred().to_vec();
        activity.charges = charge_points.finish(&activity.inferred);
        activity.intervals = replay.finish(covered.to_ns);
        activity
    }

    #[inline]
    fn keep(&mut self, event: Event<'a>, window: Window, own_tid: i32) {
        self.keep_timers(&event, window);
        if let EventKind::HrtimerStart { expires_ns, soft_expires_ns, .. } = event.what
            && event.tid == own_tid
            && (expires_ns == window.due_ns || soft_expires_ns == window.due_ns)
        {
            self.arms.push(event);
        }
        if event.ts_ns >= window.start_ns && event.ts_ns <= window.end_ns {
            self.has_functions |= event.is_function() || event.what == EventKind::Stack;
            self.events.push(event);
        } else if event.ts_ns < window.start_ns {
            self.stamps_before.push(Stamp::of(&event));
            self.before.keep(event, own_tid);
        }
    }

    #[inline]
    fn keep_timers(&mut self, event: &Event<'a>, window: Window) {
        let pending = |known: &DueTimer, timer: u64| known.timer == timer && known.fired_ns.is_none();
        match event.what {
            EventKind::HrtimerStart { timer, expires_ns, .. } => {
                self.due_timers.retain(|known| !pending(known, timer));
                if expires_ns > window.due_ns && expires_ns < window.seen_ns && self.due_timers.len() < DUE_TIMERS_MAX {
                    let started_ns = event.ts_ns;
                    self.due_timers.push(DueTimer { timer, started_ns, expires_ns, fired_ns: None });
                }
            }
            EventKind::HrtimerCancel { timer } => self.due_timers.retain(|known| !pending(known, timer)),
            EventKind::HrtimerExpireEntry { timer, .. } => {
                if let Some(known) = self.due_timers.iter_mut().find(|known| pending(known, timer)) {
                    known.fired_ns = Some(event.ts_ns);
                }
            }
            _ => {}
        }
    }

    /// The part of the intervals that overlaps `start_ns..end_ns`.
    pub fn overlapping(&self, start_ns: i64, end_ns: i64) -> &[Interval] {
        let first = self.intervals.partition_point(|interval| interval.end_ns <= start_ns);
        let last = self.intervals.partition_point(|interval| interval.start_ns < end_ns);
        self.intervals.get(first..last).unwrap_or(&[])
    }

    /// Stretches longer than `longer_ns` between two consecutive records, where they overlap `start_ns..end_ns`. If no
    /// record is known before or after, they extend to the end of that range.
    pub fn pauses(&self, start_ns: i64, end_ns: i64, longer_ns: i64) -> impl Iterator<Item = (i64, i64)> {
        let first = self.events.partition_point(|event| event.ts_ns <= start_ns);
        let last = self.events.partition_point(|event| event.ts_ns < end_ns);
        let at = |index: usize| self.events.get(index).map(|event| event.ts_ns);
        let earlier_ns = self.stamps_before.last().map_or(start_ns, |stamp| stamp.ts_ns);
        let pauses = (first..=last.max(first)).map(move |index| {
            let before_ns = index.checked_sub(1).and_then(at).unwrap_or(earlier_ns);
            (before_ns, at(index).unwrap_or(end_ns))
        });
        pauses.filter(move |(before_ns, after_ns)| after_ns - before_ns > longer_ns)
    }

    /// When the timer interrupt around an instant was entered.
    pub fn timer_interrupt_at(&self, ts_ns: i64) -> Option<i64> {
        let (entry, exit) = (
            EventKind::VectorEntry { vector: Vector::LocalTimer },
            EventKind::VectorExit { vector: Vector::LocalTimer },
        );
        let before = self.events_between(i64::MIN, ts_ns).iter().rev();
        let last = before.take_while(|event| event.what != exit).find(|event| event.what == entry);
        last.map(|event| event.ts_ns)
    }

    /// Events with `start_ns <= ts_ns <= end_ns`.
    pub fn events_between(&self, start_ns: i64, end_ns: i64) -> &[Event<'a>] {
        let first = self.events.partition_point(|event| event.ts_ns < start_ns);
        let last = self.events.partition_point(|event| event.ts_ns <= end_ns);
        self.events.get(first..last).unwrap_or(&[])
    }
}

/// All CPUs in the window.
#[derive(Debug)]
pub struct Trace<'a> {
    pub window: Window,
    /// Ascending by CPU.
    pub cpus: Vec<CpuActivity<'a>>,
    pub names: Names,
    pub priorities: Priorities<'a>,
    /// The limits of the account.
    pub limits: Vec<Limit>,
    pub shown: Shown,
    /// It was recorded from outside an emulated machine, whose time stands still while it does not execute: every
    /// instant of it belongs to a task.
    pub outside: bool,
}

impl<'a> Trace<'a> {
    pub fn new(window: Window, mut cpus: Vec<CpuActivity<'a>>, names: Names, outside: bool) -> Self {
        cpus.sort_by_key(|activity| activity.cpu);
        let mut trace = Self {
            window,
            cpus,
            names,
            priorities: Priorities::default(),
            limits: Vec::new(),
            shown: Shown::ALL,
            outside,
        };
        trace.priorities = Priorities::of(trace.thread_events().into_iter());
        trace
    }

    /// Tracepoints of all CPUs in order of time, with those before the window that show the states of threads.
    fn thread_events(&self) -> Vec<Event<'a>> {
        let mut events: Vec<Event<'a>> = self.cpus.iter().flat_map(|activity| activity.before.of_threads()).collect();
        events.extend(self.cpus.iter().flat_map(|activity| &activity.events).filter(|event| !event.is_function()));
        events.sort_by_key(|event| event.ts_ns);
        events.dedup();
        events
    }

    /// The life of the measuring thread `tid`, from its first recorded event to the end of the window.
    pub fn own_life(&self, tid: i32, cpu: u32) -> Vec<LifeSpan<'a>> {
        let events = self.thread_events();
        let first_ns = events.first().map_or(self.window.start_ns, |event| event.ts_ns.min(self.window.start_ns));
        life(&events, tid, first_ns, self.window.end_ns, cpu)
    }

    pub fn cpu(&self, cpu: u32) -> Option<&CpuActivity<'a>> {
        self.cpus.iter().find(|activity| activity.cpu == cpu)
    }

    /// Events of all CPUs in order of time.
    pub fn events_by_time(&self) -> Vec<Event<'a>> {
        let mut events: Vec<Event<'a>> =
            self.cpus.iter().flat_map(|activity| activity.events.iter().copied()).collect();
        events.sort_by_key(|event| event.ts_ns);
        events
    }

    /// The same without those of the function tracer, which are by far the most numerous if there are any.
    pub fn tracepoints_by_time(&self) -> Vec<Event<'a>> {
        let of_all = self.cpus.iter().flat_map(|activity| &activity.events);
        let mut events: Vec<Event<'a>> = of_all.filter(|event| !event.is_function()).copied().collect();
        events.sort_by_key(|event| event.ts_ns);
        events
    }

    /// The timer start that armed this wake-up: the last one before it was seen.
    pub fn arm(&self) -> Option<Event<'a>> {
        let arms = self.cpus.iter().flat_map(|activity| &activity.arms);
        arms.filter(|event| event.ts_ns <= self.window.seen_ns).max_by_key(|event| event.ts_ns).copied()
    }

    /// Every thread that appears in the window.
    pub fn tids(&self) -> HashSet<i32> {
        let mut tids = HashSet::new();
        for activity in &self.cpus {
            tids.extend(activity.intervals.iter().filter_map(|interval| interval.context.tid()));
            // Mostly that of the previous event.
            let mut last = None;
            let others = activity.events.iter().map(|event| event.tid).filter(|tid| last.replace(*tid) != Some(*tid));
            tids.extend(others);
        }
        tids
    }
}
