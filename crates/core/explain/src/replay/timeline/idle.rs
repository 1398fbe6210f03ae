//! Infers the thread that got the CPU when the switch away from idle was not recorded.
//!
//! Some kernels do not record the switch away from their idle task. Often the rest of the record leaves one
//! possibility: idle was requested to yield and was not in an interrupt any more, so the scheduler was next; of the
//! threads that had become runnable on this CPU one was more urgent than all others, or the only one; and the next
//! record of the CPU belongs to that thread. The scheduler chooses that thread, and a wake-up of another one meanwhile
//! would be in the record. The exact instant of the switch is unknown; the stretch counts for the thread from the last
//! record of idle.
//!
//! How long the measuring thread took to get the CPU is the question, so nothing is inferred for it but from the instant on at
//! which it is known to have had the CPU: it read the clock there, or the meter saw the switch to it. It may have become
//! runnable beside another thread, too: if it had got the CPU first, its own switch to the other one would be in the record.

use crate::read::event::{Event, EventKind, flag};
use crate::read::names::ORDINARY_PRIO;
use std::cmp::Ordering;

const INTERRUPTED: u8 = flag::HARDIRQ | flag::SOFTIRQ | flag::NMI;

/// A thread that the scheduler would choose.
#[derive(Debug, Clone, Copy)]
struct Woken {
    tid: i32,
    /// The kernel priority, if known: lower is more urgent; ordinary threads have no order among themselves.
    prio: Option<i32>,
    /// Another thread is equally urgent, or one of both has an unknown priority.
    rivalled: bool,
}

impl Woken {
    /// The one of both that the scheduler would choose.
    fn or_more_urgent(self, other: Self) -> Self {
        if self.tid == other.tid {
            return self;
        }
        let Some((own_prio, other_prio)) = self.prio.zip(other.prio) else {
            return Self { prio: None, rivalled: true, ..self };
        };
        match own_prio.cmp(&other_prio) {
            Ordering::Less => self,
            Ordering::Equal => Self { rivalled: true, ..self },
            Ordering::Greater => other,
        }
    }
}

/// Known facts about a CPU's idle task that may be about to yield.
#[derive(Debug)]
pub struct GivingWay {
    own_tid: i32,
    /// The measuring thread became runnable on the CPU since idle has it.
    own_woken: bool,
    /// The most urgent thread that became runnable on the CPU since idle has it, except the measuring thread.
    woken: Option<Woken>,
    /// According to its last record it was requested to yield, outside any interrupt.
    asked: bool,
    /// A switch that does not begin in idle is also missing: further ones could be anywhere.
    others_missing: bool,
}

impl GivingWay {
    pub fn new(own_tid: i32) -> Self {
        Self { own_tid, own_woken: false, woken: None, asked: false, others_missing: false }
    }

    /// Processes an event of the CPU after it was replayed. `idle`: idle has the CPU now; `nested`: another context is
    /// on top of it.
    #[inline]
    pub fn note(&mut self, event: &Event, idle: bool, nested: bool) {
        if !idle {
            self.forget();
            return;
        }
        let interrupted = event.flags & INTERRUPTED != 0;
        let leaves = matches!(
            event.what,
            EventKind::VectorExit { .. } | EventKind::IrqExit { .. } | EventKind::SoftirqExit { .. }
        );
        let is_switch = matches!(event.what, EventKind::Switch { .. });
        self.asked = !is_switch && !nested && (leaves || !interrupted) && event.needs_resched();
        if let EventKind::Wakeup { tid, prio, target_cpu } = event.what
            && i64::from(target_cpu) == i64::from(event.cpu)
        {
            if tid == self.own_tid {
                self.own_woken = true;
                return;
            }
            let woken = Woken { tid, prio: prio.map(|prio| prio.min(ORDINARY_PRIO)), rivalled: false };
            self.woken = Some(self.woken.map_or(woken, |known| known.or_more_urgent(woken)));
        }
    }

    /// Forgets the state of the CPU.
    #[inline]
    pub fn forget(&mut self) {
        self.own_woken = false;
        self.woken = None;
        self.asked = false;
    }

    /// A switch from one thread to another was not recorded.
    pub fn others_are_missing(&mut self) {
        self.others_missing = true;
    }

    /// Whether `event`, the first after the last of idle, shows that idle was switched to thread `tid`.
    pub fn is_to(&self, event: &Event, tid: i32) -> bool {
        self.gave_way(event)
            && !self.others_missing
            && self.woken.is_some_and(|woken| woken.tid == tid && !woken.rivalled)
    }

    /// Whether it shows that idle was switched to the measuring thread.
    pub fn is_to_own(&self, event: &Event, tid: i32) -> bool {
        self.gave_way(event) && self.own_woken && tid == self.own_tid
    }

    fn gave_way(&self, event: &Event) -> bool {
        let interrupted = event.flags & INTERRUPTED != 0;
        let enters = event.is_interrupt_entry() || matches!(event.what, EventKind::SoftirqEntry { .. });
        self.asked && (enters || !interrupted) && !event.is_function()
    }
}

#[cfg(test)]
mod tests {
    use crate::read::event::{Event, EventKind, Vector, flag};
    use crate::read::window::Window;
    use crate::replay::context::Context;
    use crate::replay::timeline::Replay;

    const WINDOW: Window = Window { due_ns: 100, seen_ns: 900, start_ns: 0, end_ns: 1000, lookback_ns: 0 };
    const OWN: i32 = 99;
    const ASKED: u8 = flag::NEED_RESCHED | flag::IRQS_OFF;
    const TIMER: EventKind = EventKind::VectorEntry { vector: Vector::LocalTimer };
    const TIMER_LEFT: EventKind = EventKind::VectorExit { vector: Vector::LocalTimer };

    fn event(ts_ns: i64, tid: i32, flags: u8, what: EventKind) -> Event<'static> {
        Event { ts_ns, cpu: 0, tid, flags, depth: 0, what, id: 0, payload: &[] }
    }

    fn wakeup(ts_ns: i64, tid: i32, target_cpu: i32) -> Event<'static> {
        wakeup_of(ts_ns, tid, 9, target_cpu)
    }

    fn wakeup_of(ts_ns: i64, tid: i32, prio: impl Into<Option<i32>>, target_cpu: i32) -> Event<'static> {
        event(ts_ns, 0, ASKED | flag::HARDIRQ, EventKind::Wakeup { tid, prio: prio.into(), target_cpu })
    }

    fn switch(ts_ns: i64, prev: i32, next: i32) -> Event<'static> {
        event(
            ts_ns,
            prev,
            flag::IRQS_OFF,
            EventKind::Switch { prev, prev_prio: Some(9), prev_state: 1, next, next_prio: Some(19) },
        )
    }

    /// Idle is interrupted at 100 ns and wakes thread 7; the interrupt ends at 200.
    fn idle_wakes_7() -> Vec<Event<'static>> {
        vec![
            switch(50, OWN, 0),
            event(100, 0, flag::HARDIRQ, TIMER),
            wakeup(150, 7, 0),
            event(200, 0, ASKED | flag::HARDIRQ, TIMER_LEFT),
        ]
    }

    /// The context on the CPU at 500 ns, `None` if unknown, and the number of inferred stretches.
    fn at_500(events: &[Event]) -> (Option<Context>, usize) {
        let mut replay = Replay::new(WINDOW, Some(0), OWN);
        events.iter().for_each(|event| replay.feed(event));
        let inferred = replay.inferred().len();
        let intervals = replay.finish(1000);
        let context = intervals.iter().find(|one| one.start_ns <= 500 && 500 < one.end_ns).map(|one| one.context);
        (context, inferred)
    }

    fn after(event: Event<'static>) -> (Option<Context>, usize) {
        at_500(&[idle_wakes_7(), vec![event]].concat())
    }

    const SEVEN: (Option<Context>, usize) = (Some(Context::Task { tid: 7, function: 0 }), 1);

    #[test]
    fn the_thread_that_was_woken_and_that_leaves_next_had_the_cpu() {
        assert_eq!(after(switch(800, 7, OWN)), SEVEN);
        assert_eq!(after(event(800, 7, flag::HARDIRQ, TIMER)), SEVEN);
        assert_eq!(after(event(800, 7, 0, EventKind::Other)), SEVEN);
    }

    #[test]
    fn a_thread_that_nobody_woke_here_is_no_answer() {
        assert_eq!(after(switch(800, 8, OWN)), (None, 0));
        let mut events = idle_wakes_7();
        events[2] = wakeup(150, 7, 1);
        events.push(switch(800, 7, OWN));
        assert_eq!(at_500(&events), (None, 0));
    }

    #[test]
    fn of_two_threads_that_were_woken_the_more_urgent_is_first() {
        let with = |first: Event<'static>, second: Event<'static>| {
            let mut events = idle_wakes_7();
            events[2] = first;
            events.insert(3, second);
            events.push(switch(800, 7, OWN));
            at_500(&events)
        };
        assert_eq!(with(wakeup_of(150, 7, 9, 0), wakeup_of(160, 8, 10, 0)), SEVEN);
        assert_eq!(with(wakeup_of(150, 8, 120, 0), wakeup_of(160, 7, 9, 0)), SEVEN);
        assert_eq!(with(wakeup_of(150, 7, 9, 0), wakeup_of(160, OWN, 5, 0)), SEVEN, "it would be seen to leave");
        assert_eq!(with(wakeup_of(150, 7, 9, 0), wakeup_of(160, 8, 9, 0)), (None, 0));
        assert_eq!(with(wakeup_of(150, 7, 9, 0), wakeup_of(160, 8, 5, 0)), (None, 0));
        assert_eq!(with(wakeup_of(150, 7, 110, 0), wakeup_of(160, 8, 139, 0)), (None, 0), "ordinary ones take turns");
        assert_eq!(with(wakeup_of(150, 7, None, 0), wakeup_of(160, 8, 9, 0)), (None, 0), "7 may be less urgent");
        assert_eq!(with(wakeup_of(150, 7, 9, 0), wakeup_of(160, 8, None, 0)), (None, 0), "8 may be more urgent");
        assert_eq!(with(wakeup_of(150, 7, None, 0), wakeup_of(160, OWN, None, 0)), SEVEN, "no other one was woken");
    }

    #[test]
    fn idle_that_was_not_asked_or_is_still_interrupted_does_not_give_way() {
        let mut events = idle_wakes_7();
        events[3].flags = flag::HARDIRQ;
        events.push(switch(800, 7, OWN));
        assert_eq!(at_500(&events), (None, 0));
        let mut events = idle_wakes_7();
        events.truncate(3);
        events.push(switch(800, 7, OWN));
        assert_eq!(at_500(&events), (None, 0));
    }

    #[test]
    fn how_long_the_measuring_thread_took_to_get_the_cpu_is_not_guessed() {
        let mut events = idle_wakes_7();
        events[2] = wakeup(150, OWN, 0);
        events.push(switch(800, OWN, 7));
        assert_eq!(at_500(&events), (None, 0));
    }

    #[test]
    fn from_the_instant_on_at_which_it_was_seen_the_measuring_thread_had_the_cpu() {
        let seen_at = |woken: i32, next: Event<'static>, seen_ns: i64| {
            let mut events = idle_wakes_7();
            events[2] = wakeup(150, woken, 0);
            let mut replay = Replay::new(WINDOW, Some(0), OWN).with_own_seen(Some(seen_ns));
            events.iter().chain([&next]).for_each(|event| replay.feed(event));
            let inferred: Vec<_> = replay.inferred().iter().map(|one| (one.start_ns, one.end_ns)).collect();
            let at_400 = replay.finish(1000).into_iter().find(|one| one.start_ns <= 400 && 400 < one.end_ns);
            (at_400.and_then(|interval| interval.context.tid()), inferred)
        };
        assert_eq!(seen_at(OWN, switch(800, OWN, 7), 300), (Some(OWN), vec![(300, 800)]));
        assert_eq!(seen_at(OWN, switch(800, OWN, 7), 500), (None, vec![(500, 800)]), "not before");
        assert_eq!(seen_at(OWN, switch(800, 8, 7), 300), (None, vec![]), "another thread is next");
        assert_eq!(seen_at(7, switch(800, OWN, 7), 300), (None, vec![]), "nothing woke it here");
        assert_eq!(seen_at(OWN, switch(800, OWN, 7), 180), (None, vec![]), "idle had the CPU after that");
    }

    #[test]
    fn where_other_records_are_missing_nothing_is_inferred() {
        let mut replay = Replay::new(WINDOW, Some(0), OWN);
        idle_wakes_7().iter().for_each(|event| replay.feed(event));
        replay.gap();
        replay.feed(&switch(800, 7, OWN));
        assert!(replay.inferred().is_empty());
        let lost_switch = [event(10, 5, 0, EventKind::Other), event(20, 6, 0, EventKind::Other), switch(40, 6, OWN)];
        let events = [&lost_switch[..], &idle_wakes_7(), &[switch(800, 7, OWN)]].concat();
        assert_eq!(at_500(&events), (None, 0));
    }

    #[test]
    fn an_interrupt_that_the_record_begins_inside_of_is_no_sign_of_who_ran_before() {
        assert_eq!(after(event(800, 7, flag::HARDIRQ, TIMER_LEFT)).1, 0);
    }
}
