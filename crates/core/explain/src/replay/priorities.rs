//! The priority of every thread at every instant, as far as the scheduler's events show it.

use crate::read::event::{Event, EventKind};
use std::collections::HashMap;

/// A stretch in which a thread was seen with one priority.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PrioSpan<'a> {
    /// Kernel priority: below 100 is real-time, lower is more urgent.
    pub prio: i32,
    /// The first event that shows it, and the last.
    pub first_ns: i64,
    pub last_ns: i64,
    /// The event that set this priority by inheritance, or ended the inheritance.
    pub inherited: Option<Event<'a>>,
}

/// A change of a thread's priority: after one instant and not later than the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PrioChange<'a> {
    pub after_ns: i64,
    pub by_ns: i64,
    pub old_prio: i32,
    pub new_prio: i32,
    pub inherited: Option<Event<'a>>,
}

/// Priorities by thread.
#[derive(Debug, Default)]
pub struct Priorities<'a> {
    spans: HashMap<i32, Vec<PrioSpan<'a>>>,
}

impl<'a> Priorities<'a> {
    /// From events in order of time.
    pub fn of(events: impl Iterator<Item = Event<'a>>) -> Self {
        let mut priorities = Self::default();
        for event in events {
            match event.what {
                EventKind::Switch { prev, prev_prio, next, next_prio, .. } => {
                    priorities.note(prev, prev_prio, &event, false);
                    priorities.note(next, next_prio, &event, false);
                }
                EventKind::Waking { tid, prio, .. } | EventKind::Wakeup { tid, prio, .. } => {
                    priorities.note(tid, prio, &event, false);
                }
                EventKind::PiSetPrio { tid, old_prio, new_prio } => {
                    priorities.note(tid, old_prio, &event, false);
                    priorities.note(tid, new_prio, &event, true);
                }
                _ => {}
            }
        }
        priorities
    }

    fn note(&mut self, tid: i32, prio: Option<i32>, event: &Event<'a>, inherited: bool) {
        let Some(prio) = prio.filter(|_| tid != 0) else { return };
        let spans = self.spans.entry(tid).or_default();
        match spans.last_mut() {
            Some(last) if last.prio == prio => last.last_ns = event.ts_ns,
            _ => spans.push(PrioSpan {
                prio,
                first_ns: event.ts_ns,
                last_ns: event.ts_ns,
                inherited: inherited.then_some(*event),
            }),
        }
    }

    fn spans(&self, tid: i32) -> &[PrioSpan<'a>] {
        self.spans.get(&tid).map_or(&[], Vec::as_slice)
    }

    /// The priority that a thread was last seen with at an instant, or else the first one afterwards.
    pub fn at(&self, tid: i32, at_ns: i64) -> Option<i32> {
        self.span_at(tid, at_ns).map(|span| span.prio)
    }

    pub fn span_at(&self, tid: i32, at_ns: i64) -> Option<&PrioSpan<'a>> {
        let spans = self.spans(tid);
        let next = spans.partition_point(|span| span.first_ns <= at_ns);
        spans.get(next.saturating_sub(1))
    }

    /// Changes of a thread's priority, in order of time.
    pub fn changes(&self, tid: i32) -> impl Iterator<Item = PrioChange<'a>> {
        self.spans(tid).windows(2).map(|pair| PrioChange {
            after_ns: pair[0].last_ns,
            by_ns: pair[1].first_ns,
            old_prio: pair[0].prio,
            new_prio: pair[1].prio,
            inherited: pair[1].inherited,
        })
    }

    /// The priority that a thread inherits at an instant, with its own priority and the event that shows it: the start
    /// of the inheritance, or its end.
    pub fn boost_at(&self, tid: i32, at_ns: i64) -> Option<Boost<'a>> {
        let spans = self.spans(tid);
        let index = spans.partition_point(|span| span.first_ns <= at_ns).saturating_sub(1);
        let now = spans.get(index)?;
        let before = index.checked_sub(1).and_then(|index| spans.get(index));
        if let (Some(before), Some(event)) = (before, now.inherited)
            && now.prio < before.prio
        {
            return Some(Boost { prio: now.prio, own_prio: before.prio, lent: true, event });
        }
        let after = spans.get(index + 1)?;
        let event = after.inherited?;
        (after.prio > now.prio).then_some(Boost { prio: now.prio, own_prio: after.prio, lent: false, event })
    }
}

/// A priority that a thread inherits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Boost<'a> {
    pub prio: i32,
    /// Its priority without it.
    pub own_prio: i32,
    /// The event starts the inheritance; otherwise it ends it.
    pub lent: bool,
    pub event: Event<'a>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(ts_ns: i64, tid: i32, what: EventKind) -> Event<'static> {
        Event { ts_ns, cpu: 0, tid, flags: 0, depth: 0, what, id: 0, payload: &[] }
    }

    fn switch(ts_ns: i64, prev: (i32, i32), next: (i32, i32)) -> Event<'static> {
        let what = EventKind::Switch {
            prev: prev.0,
            prev_prio: Some(prev.1),
            prev_state: 0,
            next: next.0,
            next_prio: Some(next.1),
        };
        event(ts_ns, prev.0, what)
    }

    fn inherit(ts_ns: i64, by: i32, tid: i32, old_prio: i32, new_prio: i32) -> Event<'static> {
        event(ts_ns, by, EventKind::PiSetPrio { tid, old_prio: Some(old_prio), new_prio: Some(new_prio) })
    }

    #[test]
    fn a_priority_counts_from_the_event_that_shows_it() {
        let events = [switch(10, (1, 120), (2, 89)), switch(20, (2, 120), (1, 120)), switch(30, (1, 120), (2, 120))];
        let priorities = Priorities::of(events.into_iter());
        let of = |at_ns| priorities.at(2, at_ns);
        assert_eq!((of(5), of(10), of(19), of(20), of(99)), (Some(89), Some(89), Some(89), Some(120), Some(120)));
        let changes: Vec<_> =
            priorities.changes(2).map(|change| (change.after_ns, change.by_ns, change.new_prio)).collect();
        assert_eq!(changes, [(10, 20, 120)]);
        assert_eq!((priorities.at(3, 10), priorities.boost_at(2, 15)), (None, None));
    }

    #[test]
    fn a_lent_priority_is_known_by_its_lender_or_by_its_end() {
        let events = [switch(10, (1, 120), (2, 89)), inherit(20, 3, 2, 89, 4), inherit(40, 2, 2, 4, 89)];
        let priorities = Priorities::of(events.into_iter());
        let boost = priorities.boost_at(2, 25).unwrap();
        assert_eq!((boost.prio, boost.own_prio, boost.lent, boost.event.tid), (4, 89, true, 3));
        assert_eq!((priorities.boost_at(2, 15), priorities.boost_at(2, 45)), (None, None));
        let late = Priorities::of([switch(10, (1, 120), (2, 4)), inherit(40, 2, 2, 4, 89)].into_iter());
        let boost = late.boost_at(2, 25).unwrap();
        assert_eq!((boost.prio, boost.own_prio, boost.lent), (4, 89, false));
    }
}
