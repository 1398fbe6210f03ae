//! Replays the events of one CPU into intervals, each with the one context that held the CPU.
//!
//! Contexts nest: NMI over interrupt over softirq over thread or idle. Softirqs and work items belong to a thread, not
//! to the CPU, because on PREEMPT_RT the thread that runs them can be preempted. The replay may begin anywhere: the
//! first event shows the state before it, as far as possible.
//!
//! A switch that was not recorded leaves a gap, with exceptions, see [`idle`] and [`section`].

mod idle;
pub mod inferred;
mod section;

use crate::read::event::{Event, EventKind, IDLE_EXIT, Vector, flag};
use crate::read::window::Window;
use crate::recorder::Shown;
use crate::replay::context::Context;
use idle::GivingWay;
use inferred::{Inference, Inferred};
use section::Section;
use std::collections::HashMap;

/// More nested interrupts than hardware can stack; a deeper trace is invalid.
const NESTED_IRQS_MAX: usize = 16;
/// The vector of a softirq of which only a flag is recorded.
const UNKNOWN_SOFTIRQ: u32 = u32::MAX;

/// A stretch of one CPU. Intervals of a CPU ascend and do not overlap; gaps between them are untraced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interval {
    pub start_ns: i64,
    pub end_ns: i64,
    pub context: Context,
}

/// Pending work on behalf of one thread.
#[derive(Debug, Clone, Copy, Default)]
struct Pending {
    softirq: Option<(u32, u64)>,
    work: u64,
    /// Function of an SMP call (`smp_call_function`), executed in the thread itself.
    csd: u64,
}

impl Pending {
    fn is_empty(&self) -> bool {
        self.softirq.is_none() && self.work == 0 && self.csd == 0
    }
}

/// State of the replay of one CPU.
#[derive(Debug)]
pub struct Replay {
    window: Window,
    intervals: Vec<Interval>,
    /// Everything before it is accounted for.
    cursor_ns: i64,
    /// The contexts below are those of the CPU at `cursor_ns`.
    known: bool,
    tid: i32,
    /// The thread that was switched out for `tid`, until an event of `tid` occurs.
    giving_way: Option<i32>,
    idle_state: u32,
    /// Each is a [`Context::Vector`] or [`Context::Irq`].
    irqs: Vec<Context>,
    current: Pending,
    others: HashMap<i32, Pending>,
    switches_missing: u64,
    idle_giving_way: GivingWay,
    /// The measuring thread had the CPU then.
    own_seen_ns: Option<i64>,
    section: Section,
    inferred: Vec<Inferred>,
    /// Where interrupts or softirqs are not recorded, a flag shows one at an instant, and nothing of how long it takes.
    pub shown: Shown,
}

impl Replay {
    /// `covered_from_ns`: the recorder would have shown events from there on; `None` if only the first event proves it.
    /// `own_tid` is the measuring thread.
    pub fn new(window: Window, covered_from_ns: Option<i64>, own_tid: i32) -> Self {
        Self {
            window,
            intervals: Vec::new(),
            cursor_ns: covered_from_ns.unwrap_or(i64::MAX),
            known: false,
            tid: 0,
            giving_way: None,
            idle_state: IDLE_EXIT,
            irqs: Vec::new(),
            current: Pending::default(),
            others: HashMap::new(),
            switches_missing: 0,
            idle_giving_way: GivingWay::new(own_tid),
            own_seen_ns: None,
            section: Section::new(own_tid),
            inferred: Vec::new(),
            shown: Shown::ALL,
        }
    }

    /// The measuring thread is known to have had the CPU at this instant.
    pub fn with_own_seen(self, own_seen_ns: Option<i64>) -> Self {
        Self { own_seen_ns, ..self }
    }

    /// Processes the next event of the CPU. An event earlier than its predecessor is moved to the predecessor's time.
    #[inline]
    pub fn feed(&mut self, event: &Event) {
        if !self.known {
            self.cursor_ns = self.cursor_ns.min(event.ts_ns);
            self.deduce(event);
        }
        let ts_ns = event.ts_ns.max(self.cursor_ns);
        self.heal(event);
        self.advance(ts_ns, event.what);
        self.apply(event);
        let nested = !self.irqs.is_empty() || self.current.softirq.is_some();
        self.idle_giving_way.note(event, self.tid == 0, nested);
        self.section.note(event, nested);
    }

    /// Records are missing between the last event and the next.
    pub fn gap(&mut self) {
        self.known = false;
        self.cursor_ns = i64::MAX;
        self.giving_way = None;
        self.irqs.clear();
        self.others.clear();
        self.current = Pending::default();
        self.idle_giving_way.forget();
        self.section.forget();
    }

    /// Thread switches in the window that the trace does not show.
    pub fn switches_missing(&self) -> u64 {
        self.switches_missing
    }

    /// Stretches assigned to a task by inference; the switch before each is one of those that are missing.
    pub fn inferred(&self) -> &[Inferred] {
        &self.inferred
    }

    /// `covered_to_ns`: the recorder would have shown events up to there.
    pub fn finish(mut self, covered_to_ns: i64) -> Vec<Interval> {
        if self.known && covered_to_ns > self.cursor_ns {
            let context = self.context();
            self.push(self.cursor_ns, covered_to_ns, context);
        }
        self.intervals
    }

    #[inline]
    fn context(&self) -> Context {
        if let Some(&irq) = self.irqs.last() {
            return irq;
        }
        match self.current {
            Pending { softirq: Some((vec, function)), .. } => Context::Softirq { vec, tid: self.tid, function },
            _ if self.tid == 0 => Context::Idle { state: self.idle_state },
            Pending { work, csd, .. } => Context::Task { tid: self.tid, function: if csd != 0 { csd } else { work } },
        }
    }

    /// Closes the interval that ends at `ts_ns`; an NMI reports only afterwards how much of it was its own.
    #[inline]
    fn advance(&mut self, ts_ns: i64, what: EventKind) {
        let context = self.context();
        let start_ns = self.cursor_ns;
        if let EventKind::Nmi { handler, delta_ns } = what {
            let nmi_ns = ts_ns.saturating_sub(delta_ns.max(0)).max(start_ns);
            self.push(start_ns, nmi_ns, context);
            self.push(nmi_ns, ts_ns, Context::Nmi { handler });
        } else {
            self.push(start_ns, ts_ns, context);
        }
        self.cursor_ns = ts_ns;
    }

    #[inline]
    fn push(&mut self, start_ns: i64, end_ns: i64, context: Context) {
        let start_ns = start_ns.max(self.window.start_ns);
        let end_ns = end_ns.min(self.window.end_ns);
        if start_ns >= end_ns {
            return;
        }
        match self.intervals.last_mut() {
            Some(last) if last.context == context && last.end_ns == start_ns => last.end_ns = end_ns,
            _ => self.intervals.push(Interval { start_ns, end_ns, context }),
        }
    }

    /// The contexts before an event without known predecessors.
    fn deduce(&mut self, event: &Event) {
        self.known = true;
        self.idle_state = IDLE_EXIT;
        self.irqs.clear();
        self.current = Pending::default();
        self.tid = match event.what {
            EventKind::Switch { prev, .. } => prev,
            _ => event.tid,
        };
        match event.what {
            EventKind::VectorExit { vector } => self.irqs.push(Context::Vector { vector, function: 0 }),
            EventKind::IrqExit { irq } => self.irqs.push(Context::Irq { irq, function: 0 }),
            EventKind::SoftirqExit { vec } => self.current.softirq = Some((vec, 0)),
            EventKind::VectorEntry { .. } | EventKind::IrqEntry { .. } | EventKind::SoftirqEntry { .. } => {}
            _ if event.flags & flag::HARDIRQ != 0 && self.shown.interrupts => {
                self.irqs.push(Context::Vector { vector: Vector::Unnamed, function: 0 });
            }
            _ if event.flags & flag::SOFTIRQ != 0 && self.shown.softirqs => {
                self.current.softirq = Some((UNKNOWN_SOFTIRQ, 0))
            }
            _ => {}
        }
    }

    /// Corrects the state from what every event proves: the running thread, and that no interrupt and no unknown softirq is running
    /// if its flags say so.
    #[inline]
    fn heal(&mut self, event: &Event) {
        let tid = match event.what {
            EventKind::Switch { prev, .. } => prev,
            _ => event.tid,
        };
        if tid == self.tid {
            self.giving_way = None;
        } else if self.giving_way == Some(tid) && event.is_function() && event.flags & flag::IRQS_OFF != 0 {
            // The kernel reports the new thread only at the end of the switch; functions before that are recorded for
            // the old one.
            return;
        } else {
            // A switch was not recorded: the running thread is unknown from the last event to this one.
            let in_window = (self.window.start_ns..=self.window.end_ns).contains(&event.ts_ns);
            self.switches_missing += u64::from(in_window);
            if self.idle_giving_way.is_to(event, tid) {
                if in_window {
                    let (start_ns, end_ns) = (self.cursor_ns, event.ts_ns);
                    self.inferred.push(Inferred { tid, start_ns, end_ns, from: Inference::IdleGaveWay });
                }
                self.switch_to(tid);
                self.giving_way = None;
                return;
            }
            if self.tid != 0 {
                self.idle_giving_way.others_are_missing();
            }
            let resumes_ns = event.ts_ns.max(self.cursor_ns);
            if let Some(seen_ns) = self.own_seen_ns
                && (self.cursor_ns..resumes_ns).contains(&seen_ns)
                && self.idle_giving_way.is_to_own(event, tid)
            {
                if in_window {
                    let from = Inference::OwnWasSeen;
                    self.inferred.push(Inferred { tid, start_ns: seen_ns, end_ns: resumes_ns, from });
                }
                self.gap();
                self.deduce(event);
                self.cursor_ns = seen_ns;
                return;
            }
            if let Some(keeper) = self.section.until(event, tid) {
                let start_ns = self.cursor_ns;
                self.push(start_ns, resumes_ns, Context::Task { tid: keeper, function: 0 });
                if in_window {
                    let from = Inference::PreemptionDisabled;
                    self.inferred.push(Inferred { tid: keeper, start_ns, end_ns: resumes_ns, from });
                }
            }
            self.gap();
            self.cursor_ns = resumes_ns;
            self.deduce(event);
            return;
        }
        let exits = matches!(event.what, EventKind::VectorExit { .. } | EventKind::IrqExit { .. });
        if !self.irqs.is_empty() && !exits && event.flags & (flag::HARDIRQ | flag::NMI) == 0 {
            self.irqs.clear();
        }
        // What only a flag showed lasts as long as the flag: the end may have been recorded before the trace begins.
        if matches!(self.current.softirq, Some((UNKNOWN_SOFTIRQ, _))) && event.flags & flag::SOFTIRQ == 0 {
            self.current.softirq = None;
        }
    }

    #[inline]
    fn switch_to(&mut self, tid: i32) {
        if !self.current.is_empty() {
            self.others.insert(self.tid, self.current);
            self.current = Pending::default();
        }
        if !self.others.is_empty()
            && let Some(pending) = self.others.remove(&tid)
        {
            self.current = pending;
        }
        self.giving_way = Some(self.tid);
        self.tid = tid;
        self.idle_state = IDLE_EXIT;
    }

    #[inline]
    fn apply(&mut self, event: &Event) {
        match event.what {
            EventKind::Switch { next, .. } => {
                self.irqs.clear();
                self.switch_to(next);
            }
            EventKind::VectorEntry { vector } => self.enter(Context::Vector { vector, function: 0 }),
            EventKind::IrqEntry { irq } => self.enter(Context::Irq { irq, function: 0 }),
            EventKind::VectorExit { vector } => {
                self.leave(|context| {
                    matches!(context, Context::Vector { vector: open, .. } if *open == vector
                    || *open == Vector::Unnamed)
                });
            }
            EventKind::IrqExit { irq } => {
                self.leave(|context| matches!(context, Context::Irq { irq: open, .. } if *open == irq));
            }
            EventKind::SoftirqEntry { vec } => self.current.softirq = Some((vec, 0)),
            EventKind::SoftirqExit { .. } => self.current.softirq = None,
            EventKind::HrtimerExpireEntry { function, .. } | EventKind::TimerExpireEntry { function } => {
                self.execute(function);
            }
            EventKind::HrtimerExpireExit { .. } | EventKind::TimerExpireExit => self.execute(0),
            EventKind::CsdEntry { function } => self.execute_smp_call(function),
            EventKind::CsdExit => self.execute_smp_call(0),
            EventKind::WorkStart { function, .. } => self.current.work = function,
            EventKind::WorkEnd => self.current.work = 0,
            EventKind::Idle { state } => self.idle_state = state,
            _ => {}
        }
    }

    fn enter(&mut self, context: Context) {
        if self.irqs.len() < NESTED_IRQS_MAX {
            self.irqs.push(context);
        }
    }

    fn leave(&mut self, matches: impl Fn(&Context) -> bool) {
        if let Some(index) = self.irqs.iter().rposition(matches) {
            self.irqs.truncate(index);
        }
    }

    /// The innermost interrupt or softirq executes `address`, or unknown code if that is 0.
    fn execute(&mut self, address: u64) {
        match self.irqs.last_mut() {
            Some(Context::Vector { function, .. } | Context::Irq { function, .. }) => *function = address,
            _ => {
                if let Some((_, function)) = &mut self.current.softirq {
                    *function = address;
                }
            }
        }
    }

    fn execute_smp_call(&mut self, address: u64) {
        if self.irqs.is_empty() && self.current.softirq.is_none() {
            self.current.csd = address;
        } else {
            self.execute(address);
        }
    }
}

#[cfg(test)]
mod tests;
