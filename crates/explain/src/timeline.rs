//! Replays the events of one CPU into intervals, each with the one context that held the CPU.
//!
//! Contexts nest: NMI over interrupt over softirq over thread or idle. Softirqs and work items belong to a thread, not to
//! the CPU, because on PREEMPT_RT the thread that runs them can be preempted. The replay may begin anywhere: the first
//! event tells what came before it, as far as it can.
//!
//! A switch that was not recorded leaves a hole, with one exception, see [`idle`].

pub mod idle;

use crate::event::{Event, IDLE_EXIT, Vector, What, flag};
use crate::holder::Holder;
use crate::window::Window;
use idle::{GivingWay, Inferred};
use std::collections::HashMap;

/// More nested interrupts than hardware can stack; beyond it the trace is nonsense.
const NESTED_IRQS_MAX: usize = 16;

/// A stretch of one CPU. Intervals of a CPU ascend and do not overlap; holes between them are untraced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interval {
    pub start_ns: i64,
    pub end_ns: i64,
    pub holder: Holder,
}

/// What is pending on behalf of one thread.
#[derive(Debug, Clone, Copy, Default)]
struct Pending {
    softirq: Option<(u32, u64)>,
    work: u64,
    /// Function of another CPU's request, executed in the thread itself.
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
    /// Everything before is accounted for.
    cursor_ns: i64,
    /// The contexts below are those of the CPU at `cursor_ns`.
    known: bool,
    tid: i32,
    /// The thread that gave way to `tid`, until something of `tid` is seen.
    giving_way: Option<i32>,
    idle_state: u32,
    /// Each is a [`Holder::Vector`] or [`Holder::Irq`].
    irqs: Vec<Holder>,
    current: Pending,
    others: HashMap<i32, Pending>,
    switches_missing: u64,
    idle_giving_way: GivingWay,
    inferred: Vec<Inferred>,
}

impl Replay {
    /// `covered_from_ns`: the recorder would have shown events from there on; `None` when only the first event proves it.
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
            inferred: Vec::new(),
        }
    }

    /// Takes the next event of the CPU. One that claims to be earlier than its predecessor happens with it.
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
    }

    /// Thread switches in the window that the trace does not show.
    pub fn switches_missing(&self) -> u64 {
        self.switches_missing
    }

    /// Stretches that somebody has by inference; the switch before each is one of those that are missing.
    pub fn inferred(&self) -> &[Inferred] {
        &self.inferred
    }

    /// `covered_to_ns`: the recorder would have shown events up to there.
    pub fn finish(mut self, covered_to_ns: i64) -> Vec<Interval> {
        if self.known && covered_to_ns > self.cursor_ns {
            let holder = self.holder();
            self.push(self.cursor_ns, covered_to_ns, holder);
        }
        self.intervals
    }

    #[inline]
    fn holder(&self) -> Holder {
        if let Some(&irq) = self.irqs.last() {
            return irq;
        }
        match self.current {
            Pending { softirq: Some((vec, function)), .. } => Holder::Softirq { vec, tid: self.tid, function },
            _ if self.tid == 0 => Holder::Idle { state: self.idle_state },
            Pending { work, csd, .. } => Holder::Task { tid: self.tid, function: if csd != 0 { csd } else { work } },
        }
    }

    /// Closes the interval that ends at `ts_ns`; an NMI says only afterwards how much of it was its own.
    #[inline]
    fn advance(&mut self, ts_ns: i64, what: What) {
        let holder = self.holder();
        let start_ns = self.cursor_ns;
        if let What::Nmi { handler, delta_ns } = what {
            let nmi_ns = ts_ns.saturating_sub(delta_ns.max(0)).max(start_ns);
            self.push(start_ns, nmi_ns, holder);
            self.push(nmi_ns, ts_ns, Holder::Nmi { handler });
        } else {
            self.push(start_ns, ts_ns, holder);
        }
        self.cursor_ns = ts_ns;
    }

    #[inline]
    fn push(&mut self, start_ns: i64, end_ns: i64, holder: Holder) {
        let start_ns = start_ns.max(self.window.start_ns);
        let end_ns = end_ns.min(self.window.end_ns);
        if start_ns >= end_ns {
            return;
        }
        match self.intervals.last_mut() {
            Some(last) if last.holder == holder && last.end_ns == start_ns => last.end_ns = end_ns,
            _ => self.intervals.push(Interval { start_ns, end_ns, holder }),
        }
    }

    /// The contexts before an event that comes out of the unknown.
    fn deduce(&mut self, event: &Event) {
        self.known = true;
        self.idle_state = IDLE_EXIT;
        self.irqs.clear();
        self.current = Pending::default();
        self.tid = match event.what {
            What::Switch { prev, .. } => prev,
            _ => event.tid,
        };
        match event.what {
            What::VectorExit { vector } => self.irqs.push(Holder::Vector { vector, function: 0 }),
            What::IrqExit { irq } => self.irqs.push(Holder::Irq { irq, function: 0 }),
            What::SoftirqExit { vec } => self.current.softirq = Some((vec, 0)),
            What::VectorEntry { .. } | What::IrqEntry { .. } | What::SoftirqEntry { .. } => {}
            _ if event.flags & flag::HARDIRQ != 0 => {
                self.irqs.push(Holder::Vector { vector: Vector::Unnamed, function: 0 });
            }
            _ if event.flags & flag::SOFTIRQ != 0 => self.current.softirq = Some((u32::MAX, 0)),
            _ => {}
        }
    }

    /// What every event proves: who runs, and that no interrupt does when its flags say so.
    #[inline]
    fn heal(&mut self, event: &Event) {
        let tid = match event.what {
            What::Switch { prev, .. } => prev,
            _ => event.tid,
        };
        if tid == self.tid {
            self.giving_way = None;
        } else if self.giving_way == Some(tid) && event.is_function() && event.flags & flag::IRQS_OFF != 0 {
            // The kernel names the new thread only at the end of the switch; functions before that go by the old one.
            return;
        } else {
            // A switch was not recorded: from the last event to this one nobody knows who ran.
            let in_window = (self.window.start_ns..=self.window.end_ns).contains(&event.ts_ns);
            self.switches_missing += u64::from(in_window);
            if self.idle_giving_way.is_to(event, tid) {
                if in_window {
                    self.inferred.push(Inferred { tid, start_ns: self.cursor_ns, end_ns: event.ts_ns });
                }
                self.switch_to(tid);
                self.giving_way = None;
                return;
            }
            if self.tid != 0 {
                self.idle_giving_way.others_are_missing();
            }
            let resumes_ns = event.ts_ns.max(self.cursor_ns);
            self.gap();
            self.cursor_ns = resumes_ns;
            self.deduce(event);
            return;
        }
        let exits = matches!(event.what, What::VectorExit { .. } | What::IrqExit { .. });
        if !self.irqs.is_empty() && !exits && event.flags & (flag::HARDIRQ | flag::NMI) == 0 {
            self.irqs.clear();
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
            What::Switch { next, .. } => {
                self.irqs.clear();
                self.switch_to(next);
            }
            What::VectorEntry { vector } => self.enter(Holder::Vector { vector, function: 0 }),
            What::IrqEntry { irq } => self.enter(Holder::Irq { irq, function: 0 }),
            What::VectorExit { vector } => {
                self.leave(|holder| {
                    matches!(holder, Holder::Vector { vector: open, .. } if *open == vector
                    || *open == Vector::Unnamed)
                });
            }
            What::IrqExit { irq } => {
                self.leave(|holder| matches!(holder, Holder::Irq { irq: open, .. } if *open == irq));
            }
            What::SoftirqEntry { vec } => self.current.softirq = Some((vec, 0)),
            What::SoftirqExit { .. } => self.current.softirq = None,
            What::HrtimerExpireEntry { function, .. } | What::TimerExpireEntry { function } => {
                self.execute(function);
            }
            What::HrtimerExpireExit { .. } | What::TimerExpireExit => self.execute(0),
            What::CsdEntry { function } => self.execute_for_another_cpu(function),
            What::CsdExit => self.execute_for_another_cpu(0),
            What::WorkStart { function } => self.current.work = function,
            What::WorkEnd => self.current.work = 0,
            What::Idle { state } => self.idle_state = state,
            _ => {}
        }
    }

    fn enter(&mut self, holder: Holder) {
        if self.irqs.len() < NESTED_IRQS_MAX {
            self.irqs.push(holder);
        }
    }

    fn leave(&mut self, matches: impl Fn(&Holder) -> bool) {
        if let Some(index) = self.irqs.iter().rposition(matches) {
            self.irqs.truncate(index);
        }
    }

    /// The innermost interrupt or softirq executes `address`, or nothing known when that is 0.
    fn execute(&mut self, address: u64) {
        match self.irqs.last_mut() {
            Some(Holder::Vector { function, .. } | Holder::Irq { function, .. }) => *function = address,
            _ => {
                if let Some((_, function)) = &mut self.current.softirq {
                    *function = address;
                }
            }
        }
    }

    fn execute_for_another_cpu(&mut self, address: u64) {
        if self.irqs.is_empty() && self.current.softirq.is_none() {
            self.current.csd = address;
        } else {
            self.execute(address);
        }
    }
}

#[cfg(test)]
mod tests;
