//! Turns the actions of the code into events on the guest's clock, with the names of threads and functions.

use super::blocks::Blocks;
use super::calls::{CallEvent, Instant, follow, threads};
use super::role::Role;
use crate::read::event::{Event, EventKind, flag};
use crate::read::names::{NAMELESS_TIDS, Names};
use crate::read::window::Window;
use archive::spike::Spike;
use ftrace::flight_record::FlightRecord;
use std::collections::{BTreeMap, HashSet};

/// Outermost function of a system call.
const SYSTEM_CALL: &str = "entry_SYSCALL";
/// Outermost functions of kernel threads; what the thread does is in the function below them.
const KERNEL_THREAD: [&str; 3] = ["ret_from_fork", "ret_from_fork_asm", "kthread"];
const IDLE_LOOP: &str = "do_idle";
/// Number of a device's interrupt: the record shows its functions, not its number.
const DEVICE: i32 = -1;
/// The only timer that is identified: that of the measuring thread.
const OWN_TIMER: u64 = 1;
/// An idle loop without a choice of states.
const IDLE_STATE: u32 = 1;

pub struct FlightEvents {
    pub events: Vec<Event<'static>>,
    pub names: Names,
    /// The events are complete from here ...
    pub from_ns: i64,
    /// ... to here.
    pub to_ns: i64,
    /// The record shows where the thread read the clock.
    pub sees_the_clock: bool,
}

pub struct EventBuilder<'r> {
    blocks: &'r Blocks,
    window: Window,
    cpu: u32,
    own_tid: i32,
    /// Position at which the clock showed `seen`.
    seen: u64,
    instruction_shift: u32,
    /// Number of the measuring thread.
    own_thread: u32,
    events: Vec<Event<'static>>,
    names: Names,
    /// Threads whose open calls have been added.
    introduced: HashSet<u32>,
    /// Roles of the other threads, as far as their calls show.
    origins: BTreeMap<u32, Origin>,
    /// Sleepers that were woken: indices of the timer expiry, the waking and the wake-up among the events.
    wakes: Vec<Wake>,
}

/// The role of a thread. The record has no names of threads.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Origin {
    Unknown,
    Idle,
    User,
    /// With its function.
    Kernel(String),
}

impl Origin {
    fn name(&self, number: usize) -> String {
        match self {
            Self::Unknown => format!("thread {number} of the record"),
            Self::Idle => "idle".into(),
            Self::User => format!("user thread {number} of the record"),
            Self::Kernel(function) => format!("kernel thread {number} of the record ({function})"),
        }
    }
}

/// A timer that wakes a task.
#[derive(Debug, Clone, Copy)]
struct Wake {
    expired: usize,
    waking: Option<usize>,
    woken: Option<usize>,
    real_time: bool,
}

impl<'r> EventBuilder<'r> {
    pub fn of(record: &FlightRecord, blocks: &'r Blocks, spike: &Spike, window: Window) -> FlightEvents {
        // Without a sign of the clock, where the known meter reads it.
        let seen = blocks.seen.unwrap_or(blocks.end.saturating_sub(40));
        let mut builder = Self {
            blocks,
            window,
            cpu: spike.sample.cpu,
            own_tid: spike.tid,
            seen,
            instruction_shift: record.instruction_shift,
            own_thread: threads(blocks) - 1,
            events: Vec::new(),
            names: Names::default(),
            introduced: HashSet::new(),
            origins: BTreeMap::new(),
            wakes: Vec::new(),
        };
        builder.names.learn_irq(DEVICE, b"of a device");
        for function in &blocks.functions {
            builder.names.name_function(function.start, &function.name);
        }
        let first = blocks.steps.get(blocks.first).map_or(0, |step| step.position);
        let mut from_ns = builder.ns(first);
        if blocks.first > 0 {
            // The processor had halted for the time in which nothing was executed.
            from_ns = from_ns.min(window.start_ns);
            builder.push(from_ns, 0, 0, 0, EventKind::Idle { state: IDLE_STATE });
        }
        follow(blocks, &mut |instant| builder.take(instant, first));
        builder.choose_wake();
        builder.name_threads(spike);
        let to_ns = builder.ns(blocks.end);
        FlightEvents {
            events: builder.events,
            names: builder.names,
            from_ns,
            to_ns,
            sees_the_clock: blocks.seen.is_some(),
        }
    }

    fn ns(&self, position: u64) -> i64 {
        let before = (self.seen as i64).saturating_sub(position as i64);
        self.window.seen_ns.saturating_sub(before.saturating_mul(1 << self.instruction_shift))
    }

    fn tid(&mut self, thread: u32) -> i32 {
        if thread == self.own_thread {
            return self.own_tid;
        }
        self.origins.entry(thread).or_insert(Origin::Unknown);
        NAMELESS_TIDS.saturating_add(thread as i32)
    }

    /// Notes what the calls of a thread show about it.
    fn note_origin(&mut self, instant: &Instant) {
        let name = |at: usize| {
            let frame = instant.frames.get(at)?;
            Some(self.blocks.functions[frame.function as usize].name.as_str())
        };
        let frames = || (0..instant.frames.len()).filter_map(name);
        let found = match name(0) {
            _ if instant.what == (CallEvent::PageFault { user: true }) => Origin::User,
            Some(outermost) if outermost.starts_with(SYSTEM_CALL) => Origin::User,
            Some(_) if frames().any(|function| function == IDLE_LOOP) => Origin::Idle,
            Some(outermost) if KERNEL_THREAD.contains(&outermost) => {
                match frames().find(|function| !KERNEL_THREAD.contains(function)) {
                    Some(function) => Origin::Kernel(function.to_owned()),
                    None => return,
                }
            }
            _ => return,
        };
        if let Some(origin) = self.origins.get_mut(&instant.thread).filter(|origin| **origin == Origin::Unknown) {
            *origin = found;
        }
    }

    fn name_threads(&mut self, spike: &Spike) {
        // No record has the name of a watched thread.
        let own = if spike.watched.is_some() { "the watched thread".into() } else { format!("tardy-cpu{}", self.cpu) };
        self.names.learn_task(self.own_tid, Some(own.as_bytes()), None);
        for (index, (thread, origin)) in self.origins.iter().enumerate() {
            let tid = NAMELESS_TIDS.saturating_add(*thread as i32);
            self.names.learn_task(tid, Some(origin.name(index + 1).as_bytes()), None);
        }
    }

    fn push(&mut self, ts_ns: i64, tid: i32, flags: u8, depth: u8, what: EventKind) {
        self.events.push(Event { ts_ns, cpu: self.cpu, tid, flags, depth, what, id: 0, payload: &[] });
    }

    fn take(&mut self, instant: &Instant, first: u64) {
        let ts_ns = self.ns(instant.position);
        if instant.position < first || ts_ns < self.window.lookback_ns {
            return;
        }
        let tid = self.tid(instant.thread);
        self.note_origin(instant);
        if ts_ns >= self.window.start_ns && self.introduced.insert(instant.thread) {
            self.introduce(ts_ns, tid, instant);
        }
        let (flags, depth) = (instant.flags, instant.preempt_depth);
        let mut found: Vec<EventKind> = Vec::new();
        match instant.what {
            CallEvent::InterruptEnter(Some(vector)) => found.push(EventKind::VectorEntry { vector }),
            CallEvent::InterruptEnter(None) => found.push(EventKind::IrqEntry { irq: DEVICE }),
            CallEvent::InterruptExit(Some(vector)) => found.push(EventKind::VectorExit { vector }),
            CallEvent::InterruptExit(None) => found.push(EventKind::IrqExit { irq: DEVICE }),
            CallEvent::PageFault { user } => found.push(EventKind::PageFault { user, address: 0 }),
            CallEvent::Enter { function } => self.enter(function, instant, ts_ns, tid, &mut found),
            CallEvent::Exit { function } => self.exit(function, instant, &mut found),
            CallEvent::Leaves { to, waits } => {
                let next = self.tid(to);
                let (prev_prio, next_prio) = (self.names.prio(tid), self.names.prio(next));
                found.push(EventKind::Switch { prev: tid, prev_prio, prev_state: i64::from(waits), next, next_prio });
            }
            CallEvent::Comes => {}
        }
        // An interrupt's own events are recorded inside it.
        let flags = if matches!(instant.what, CallEvent::InterruptEnter(_)) { flags | flag::HARDIRQ } else { flags };
        for what in found {
            let is_call = matches!(what, EventKind::GraphEntry { .. } | EventKind::GraphExit { .. });
            if !is_call || ts_ns >= self.window.start_ns {
                self.push(ts_ns, tid, flags, depth, what);
            }
        }
    }

    /// Calls that are open when a thread first appears in the window.
    fn introduce(&mut self, ts_ns: i64, tid: i32, instant: &Instant) {
        for (depth, frame) in instant.frames.iter().enumerate() {
            let function = self.blocks.functions[frame.function as usize].start;
            let what = EventKind::GraphEntry { function, depth: depth as i32 };
            self.push(ts_ns, tid, instant.flags, instant.preempt_depth, what);
        }
    }

    fn role_of_caller(&self, instant: &Instant) -> Option<Role> {
        Some(self.blocks.functions.get(instant.frames.last()?.function as usize)?.role)
    }

    fn enter(&mut self, number: u32, instant: &Instant, ts_ns: i64, tid: i32, found: &mut Vec<EventKind>) {
        let function = &self.blocks.functions[number as usize];
        let start = function.start;
        match function.role {
            Role::Softirq(vec) => found.push(EventKind::SoftirqEntry { vec }),
            Role::TimerBook | Role::Passage => {}
            Role::Arms if tid == self.own_tid => {
                let due_ns = self.window.due_ns;
                let (timer, function) = (OWN_TIMER, 0);
                found.push(EventKind::HrtimerStart { timer, function, expires_ns: due_ns, soft_expires_ns: due_ns });
            }
            Role::Wakes => {
                if let Some(wake) = self.wakes.last_mut().filter(|wake| wake.waking.is_none()) {
                    wake.waking = Some(self.events.len());
                    found.push(EventKind::Other);
                }
            }
            Role::QueuesRealTime => self.wakes.iter_mut().last().into_iter().for_each(|wake| wake.real_time = true),
            Role::Woken => self.become_woken(found),
            _ => {}
        }
        let runs_timers = self.role_of_caller(instant) == Some(Role::Timers);
        if runs_timers && !matches!(function.role, Role::TimerBook | Role::Passage) {
            if function.role == Role::WakesSleeper && ts_ns >= self.window.due_ns {
                let expired = self.events.len() + found.len();
                self.wakes.push(Wake { expired, waking: None, woken: None, real_time: false });
            }
            found.push(EventKind::HrtimerExpireEntry { timer: 0, function: start });
        }
        found.push(EventKind::GraphEntry { function: start, depth: instant.frames.len() as i32 });
    }

    fn become_woken(&mut self, found: &mut Vec<EventKind>) {
        if let Some(wake) = self.wakes.last_mut().filter(|wake| wake.waking.is_some() && wake.woken.is_none()) {
            wake.woken = Some(self.events.len() + found.len());
            found.push(EventKind::Other);
        }
    }

    fn exit(&mut self, number: u32, instant: &Instant, found: &mut Vec<EventKind>) {
        let function = &self.blocks.functions[number as usize];
        let depth = instant.frames.len().saturating_sub(1);
        found.push(EventKind::GraphExit { function: function.start, depth: depth as i32 });
        let caller = depth.checked_sub(1).and_then(|at| instant.frames.get(at));
        let caller = caller.and_then(|frame| self.blocks.functions.get(frame.function as usize));
        match function.role {
            Role::Softirq(vec) => found.push(EventKind::SoftirqExit { vec }),
            // Newer kernels have no separate function where the thread becomes runnable.
            Role::Wakes => self.become_woken(found),
            Role::TimerBook | Role::Passage => {}
            _ if caller.is_some_and(|caller| caller.role == Role::Timers) => {
                found.push(EventKind::HrtimerExpireExit { timer: 0 });
            }
            _ => {}
        }
    }

    /// Of the sleepers that timers woke since due, the first with a real-time priority is the measuring thread; if
    /// there is none, the first one.
    fn choose_wake(&mut self) {
        let chosen = self.wakes.iter().find(|wake| wake.real_time).or(self.wakes.first()).copied();
        let tid = self.own_tid;
        let (prio, cpu) = (self.names.prio(tid), self.cpu as i32);
        let Some(wake) = chosen else { return };
        if let Some(EventKind::HrtimerExpireEntry { timer, .. }) =
            self.events.get_mut(wake.expired).map(|event| &mut event.what)
        {
            *timer = OWN_TIMER;
        }
        if let Some(event) = wake.waking.and_then(|at| self.events.get_mut(at)) {
            event.what = EventKind::Waking { tid, prio, target_cpu: cpu };
        }
        if let Some(event) = wake.woken.and_then(|at| self.events.get_mut(at)) {
            event.what = EventKind::Wakeup { tid, prio, target_cpu: cpu };
        }
        // The others were kept only in case they were needed.
        let kept = [wake.waking, wake.woken];
        let mut at = 0;
        self.events.retain(|event| {
            at += 1;
            event.what != EventKind::Other || kept.contains(&Some(at - 1))
        });
    }
}
