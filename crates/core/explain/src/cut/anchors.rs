//! The instants at which the wake-up passed from one hand to the next.

use crate::read::event::{Event, EventKind, Vector};
use crate::replay::thread_life::{LifeSpan, LifeState};
use crate::replay::trace::Trace;

/// An instant on a CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Anchor {
    pub ts_ns: i64,
    pub cpu: u32,
}

impl Anchor {
    fn of(event: &Event) -> Self {
        Self { ts_ns: event.ts_ns, cpu: event.cpu }
    }
}

/// Each is `None` when the trace does not show it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Anchors {
    /// The measuring thread started its timer.
    pub armed: Option<Anchor>,
    /// The interrupt that brought the timer's turn was entered.
    pub interrupt: Option<Anchor>,
    /// The timer's turn came.
    pub expired: Option<Anchor>,
    /// A wake-up of the thread started.
    pub waking: Option<Anchor>,
    /// The thread became runnable.
    pub woken: Option<Anchor>,
    /// The thread was given the CPU.
    pub switched: Option<Anchor>,
    /// Where the switch to the thread was not recorded: the last record of another thread on the CPU where it was runnable.
    pub last_waiting: Option<Anchor>,
}

impl Anchors {
    /// `tid` is the measuring thread.
    pub fn find(trace: &Trace, tid: i32) -> Self {
        let due_ns = trace.window.due_ns;
        let seen_ns = trace.window.seen_ns;
        let events = trace.tracepoints_by_time();
        let until_seen = &events[..events.partition_point(|event| event.ts_ns <= seen_ns)];
        let mut anchors = Self::default();

        let arm = trace.arm();
        anchors.armed = arm.as_ref().map(Anchor::of);
        let ready_ns = arm.map_or(due_ns, |arm| arm.ts_ns.max(due_ns));
        let timer = match arm.map(|arm| arm.what) {
            Some(EventKind::HrtimerStart { timer, .. }) => Some(timer),
            _ => None,
        };
        let expired = match timer {
            Some(timer) => until_seen.iter().find(|event| {
                event.ts_ns >= ready_ns
                    && matches!(event.what, EventKind::HrtimerExpireEntry { timer: expired, .. } if expired == timer)
            }),
            None => expiry_that_wakes(until_seen, due_ns, tid),
        };
        anchors.expired = expired.map(Anchor::of);
        anchors.interrupt = expired.and_then(|expired| interrupt_of(trace, expired, ready_ns));

        let from_ns = anchors.expired.map_or(ready_ns, |anchor| anchor.ts_ns);
        let after = &until_seen[until_seen.partition_point(|event| event.ts_ns < from_ns)..];
        let waking =
            after.iter().find(|event| matches!(event.what, EventKind::Waking { tid: woken, .. } if woken == tid));
        let wakeup =
            after.iter().find(|event| matches!(event.what, EventKind::Wakeup { tid: woken, .. } if woken == tid));
        anchors.waking = waking.map(Anchor::of);
        let woken = wakeup.or(waking);
        anchors.woken = woken.map(Anchor::of);
        if anchors.expired.is_none()
            && let Some(waking) = waking.or(wakeup)
        {
            anchors.interrupt = interrupt_of(trace, waking, ready_ns);
        }

        let from_ns = anchors.woken.map_or(from_ns, |anchor| anchor.ts_ns);
        anchors.switched = match woken {
            // Woken before it had gone to sleep: it holds the CPU already.
            Some(woken) if woken.tid == tid => anchors.woken,
            _ => after
                .iter()
                .find(|event| {
                    event.ts_ns >= from_ns && matches!(event.what, EventKind::Switch { next, .. } if next == tid)
                })
                .map(Anchor::of),
        };
        anchors
    }
}

impl Anchors {
    /// A deadline thread that gave its runtime up is runnable all the while: the timer that gives it new runtime wakes nobody.
    pub fn replenished(&mut self, life: &[LifeSpan]) {
        let Some(expired) = self.expired.filter(|_| self.woken.is_none()) else { return };
        let waits = |span: &&LifeSpan| span.contains(expired.ts_ns) && span.state == LifeState::Runnable;
        if life.iter().any(|span| waits(&span)) {
            self.woken = Some(expired);
        }
    }
}

impl Anchors {
    /// Looks for the end of the wait for the CPU where the switch that ended it was not recorded: some kernels do not record the
    /// switch away from their idle task. While another thread has the CPU that the thread is runnable on, it waits.
    pub fn without_a_switch(&mut self, trace: &Trace, life: &[LifeSpan], tid: i32) {
        let Some(woken) = self.woken.filter(|_| self.switched.is_none()) else { return };
        let waits = life.iter().filter(|span| span.state == LifeState::Runnable && span.end_ns > woken.ts_ns);
        let shows = waits.filter_map(|span| {
            let activity = trace.cpu(span.cpu)?;
            let events = activity.events_between(span.start_ns.max(woken.ts_ns), span.end_ns.min(trace.window.seen_ns));
            events.iter().rfind(|event| event.tid != tid && !event.is_function()).map(Anchor::of)
        });
        self.last_waiting = shows.max_by_key(|anchor| anchor.ts_ns);
    }
}

/// The timer whose turn it was when the thread was woken, for a trace that does not show the arming.
fn expiry_that_wakes<'e, 'a>(events: &'e [Event<'a>], due_ns: i64, tid: i32) -> Option<&'e Event<'a>> {
    let waking = events.iter().position(|event| {
        event.ts_ns >= due_ns && matches!(event.what, EventKind::Waking { tid: woken, .. } if woken == tid)
    })?;
    let cpu = events[waking].cpu;
    let before = events[..waking].iter().rev().filter(|event| event.cpu == cpu);
    before
        .take_while(|event| !matches!(event.what, EventKind::HrtimerExpireExit { .. } | EventKind::VectorEntry { .. }))
        .find(|event| matches!(event.what, EventKind::HrtimerExpireEntry { .. }))
}

/// Entry of the innermost interrupt open at `event`; for a timer served in a softirq, of the timer interrupt before it.
fn interrupt_of(trace: &Trace, event: &Event, ready_ns: i64) -> Option<Anchor> {
    let activity = trace.cpu(event.cpu)?;
    let mut last_timer_ns = None;
    let exit_of = |entry: &Event| match entry.what {
        EventKind::VectorEntry { vector } => Some((EventKind::VectorExit { vector }, entry.ts_ns)),
        EventKind::IrqEntry { irq } => Some((EventKind::IrqExit { irq }, entry.ts_ns)),
        _ => None,
    };
    let mut open: Vec<(EventKind, i64)> = activity.before.open_interrupts.iter().filter_map(exit_of).collect();
    for earlier in activity.events.iter().take_while(|earlier| earlier.ts_ns <= event.ts_ns) {
        if earlier == event {
            break;
        }
        match earlier.what {
            EventKind::VectorEntry { .. } | EventKind::IrqEntry { .. } => {
                if earlier.what == (EventKind::VectorEntry { vector: Vector::LocalTimer }) {
                    last_timer_ns = Some(earlier.ts_ns);
                }
                open.extend(exit_of(earlier));
            }
            EventKind::VectorExit { .. } | EventKind::IrqExit { .. } => {
                if let Some(index) = open.iter().rposition(|(exit, _)| *exit == earlier.what) {
                    open.truncate(index);
                }
            }
            EventKind::Switch { .. } => open.clear(),
            _ => {}
        }
    }
    let at = |ts_ns| Anchor { ts_ns, cpu: event.cpu };
    match open.last() {
        Some((_, ts_ns)) => Some(at(*ts_ns)),
        None => last_timer_ns.filter(|ts_ns| *ts_ns >= ready_ns).map(at),
    }
}
