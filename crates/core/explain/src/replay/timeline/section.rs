//! Infers that a thread kept the CPU when the switch from it to the measuring thread was not recorded.
//!
//! Some kernels record nothing in the context of some threads, but the interrupts on top of them. At its exit an interrupt shows
//! the preemption count of the code that it broke into. Where that code had disabled preemption although the kernel had
//! asked it to yield to the measuring thread, it was in a section of the kernel, and the thread kept the CPU from there on. When
//! the section ended the scheduler chose the measuring thread, so no third thread can have had the CPU. The stretch ends with the
//! first record of the measuring thread: from the switch to there it takes microseconds.

use crate::read::event::{Event, EventKind, flag};
use crate::read::names::ORDINARY_PRIO;

/// State of a CPU whose thread may be in such a section.
#[derive(Debug)]
pub struct Section {
    own_tid: i32,
    /// The measuring thread was woken on this CPU, with a real-time priority, and has not been given it.
    own_waits: bool,
    /// The thread in the section, according to the last interrupt on top of it.
    of: Option<i32>,
}

impl Section {
    pub fn new(own_tid: i32) -> Self {
        Self { own_tid, own_waits: false, of: None }
    }

    /// Processes an event of the CPU after it was replayed. `nested`: another context is on top of the thread.
    #[inline]
    pub fn note(&mut self, event: &Event, nested: bool) {
        let interrupted = event.flags & (flag::HARDIRQ | flag::SOFTIRQ | flag::NMI) != 0;
        match event.what {
            EventKind::Switch { .. } => self.forget(),
            EventKind::Wakeup { tid, prio: Some(..ORDINARY_PRIO), target_cpu }
                if tid == self.own_tid && i64::from(target_cpu) == i64::from(event.cpu) =>
            {
                self.own_waits = true;
            }
            EventKind::VectorExit { .. } | EventKind::IrqExit { .. } if event.flags & flag::SOFTIRQ == 0 => {
                let in_section = self.own_waits && !nested && event.needs_resched() && event.preempt_off();
                self.of = Some(event.tid).filter(|&tid| in_section && tid != 0 && tid != self.own_tid);
            }
            // Softirqs follow on the way out of an interrupt.
            _ if interrupted || event.is_interrupt_entry() => {}
            EventKind::SoftirqEntry { .. } | EventKind::SoftirqExit { .. } => {}
            _ => self.of = None,
        }
    }

    #[inline]
    pub fn forget(&mut self) {
        self.own_waits = false;
        self.of = None;
    }

    /// The thread that kept the CPU until `event`, if that is the first one of the measuring thread after it.
    pub fn until(&self, event: &Event, tid: i32) -> Option<i32> {
        self.of.filter(|_| tid == self.own_tid && !event.is_function())
    }
}

#[cfg(test)]
mod tests {
    use crate::read::event::{Event, EventKind, Vector, flag};
    use crate::read::window::Window;
    use crate::replay::timeline::Replay;

    const WINDOW: Window = Window { due_ns: 100, seen_ns: 900, start_ns: 0, end_ns: 1000, lookback_ns: 0 };
    const OWN: i32 = 99;
    const ASKED: u8 = flag::NEED_RESCHED | flag::IRQS_OFF;
    const TIMER: EventKind = EventKind::VectorEntry { vector: Vector::LocalTimer };
    const TIMER_LEFT: EventKind = EventKind::VectorExit { vector: Vector::LocalTimer };

    fn event(ts_ns: i64, tid: i32, flags: u8, depth: u8, what: EventKind) -> Event<'static> {
        Event { ts_ns, cpu: 0, tid, flags, depth, what, id: 0, payload: &[] }
    }

    fn woken(prio: impl Into<Option<i32>>, target_cpu: i32) -> Event<'static> {
        let what = EventKind::Wakeup { tid: OWN, prio: prio.into(), target_cpu };
        event(150, 7, ASKED | flag::HARDIRQ, 4, what)
    }

    /// Thread 7 is interrupted at 100 ns in a section, the measuring thread is woken, and has the next record at 800.
    fn section() -> Vec<Event<'static>> {
        vec![
            event(100, 7, flag::IRQS_OFF | flag::HARDIRQ, 1, TIMER),
            woken(19, 0),
            event(200, 7, ASKED | flag::HARDIRQ, 1, TIMER_LEFT),
            event(800, OWN, flag::IRQS_OFF, 1, EventKind::Other),
        ]
    }

    /// The thread on the CPU at 500 ns, and the stretches inferred.
    fn at_500(events: &[Event]) -> (Option<i32>, Vec<(i32, i64, i64)>) {
        let mut replay = Replay::new(WINDOW, Some(0), OWN);
        events.iter().for_each(|event| replay.feed(event));
        let inferred = replay.inferred().iter().map(|one| (one.tid, one.start_ns, one.end_ns)).collect();
        let intervals = replay.finish(1000);
        let at = intervals.iter().find(|interval| (interval.start_ns..interval.end_ns).contains(&500));
        (at.and_then(|interval| interval.context.tid()), inferred)
    }

    #[test]
    fn a_thread_keeps_the_cpu_while_it_cannot_be_preempted() {
        assert_eq!(at_500(&section()), (Some(7), vec![(7, 200, 800)]));
    }

    #[test]
    fn softirqs_on_the_way_out_change_nothing() {
        let mut events = section();
        let asked = flag::NEED_RESCHED | flag::SOFTIRQ;
        events.insert(3, event(210, 7, asked, 1, EventKind::SoftirqEntry { vec: 9 }));
        events.insert(4, event(250, 7, asked, 1, EventKind::SoftirqExit { vec: 9 }));
        assert_eq!(at_500(&events), (Some(7), vec![(7, 250, 800)]));
    }

    #[test]
    fn nothing_is_inferred_of_a_thread_that_may_have_yielded() {
        let unknown = (None, Vec::new());
        let mut preemptible = section();
        preemptible[2].depth = 0;
        assert_eq!(at_500(&preemptible), unknown, "it was in user space, or the kernel could preempt it");
        let mut not_asked = section();
        not_asked[2].flags = flag::IRQS_OFF | flag::HARDIRQ;
        assert_eq!(at_500(&not_asked), unknown, "the kernel had not asked it");
        let mut went_on = section();
        went_on.insert(3, event(300, 7, flag::NEED_RESCHED, 0, EventKind::Other));
        assert_eq!(at_500(&went_on), unknown, "its section had ended");
    }

    #[test]
    fn nothing_is_inferred_where_another_thread_may_have_been_chosen() {
        let unknown = (None, Vec::new());
        let mut ordinary = section();
        ordinary[1] = woken(120, 0);
        assert_eq!(at_500(&ordinary), unknown, "an ordinary thread waits for others, too");
        ordinary[1] = woken(None, 0);
        assert_eq!(at_500(&ordinary), unknown, "it may be an ordinary thread");
        let mut elsewhere = section();
        elsewhere[1] = woken(19, 1);
        assert_eq!(at_500(&elsewhere), unknown, "the measuring thread was woken on another CPU");
        let mut other = section();
        other[3].tid = 8;
        assert_eq!(at_500(&other), unknown, "the next record is of another thread");
    }

    #[test]
    fn nothing_is_inferred_across_lost_records() {
        let mut replay = Replay::new(WINDOW, Some(0), OWN);
        let events = section();
        events[..3].iter().for_each(|event| replay.feed(event));
        replay.gap();
        replay.feed(&events[3]);
        assert!(replay.inferred().is_empty());
    }
}
