//! Timer interrupts that the kernel defers.
//!
//! `hrtimer_interrupt` makes three rounds. If timers are still due after them, it sets the next interrupt as far ahead as it has
//! taken itself so far, at most 100 ms, and a timer that is started meanwhile does not come sooner. /proc/timer_list counts
//! these as nr_hangs. No event shows it, but the instants that it depends on are all recorded.

use crate::read::event::{Event, EventKind};
use crate::read::window::Window;

/// Each of the three rounds executes a timer.
const EXPIRIES_MIN: usize = 3;
const DEFERRED_NS_MAX: i64 = 100_000_000;
/// A machine takes some time to deliver an interrupt.
const DELIVERY_NS_MAX: i64 = 10_000;

/// A stretch in which the kernel had deferred the timer interrupt of a CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deferral {
    /// Entry of the interrupt that took too long.
    pub entered_ns: i64,
    /// Its exit.
    pub start_ns: i64,
    /// Entry of the next one.
    pub end_ns: i64,
    /// The function of most of its timers.
    pub function: u64,
}

impl Deferral {
    pub fn contains(&self, start_ns: i64, end_ns: i64) -> bool {
        self.start_ns <= start_ns && end_ns <= self.end_ns
    }

    /// How long the interrupt took.
    pub fn interrupt_ns(&self) -> i64 {
        self.start_ns - self.entered_ns
    }
}

/// A hardware interrupt, with the timers that it executes.
#[derive(Debug, Clone, Copy)]
struct Interrupt {
    entry: EventKind,
    entered_ns: i64,
    first_expiry_ns: i64,
    last_end_ns: i64,
    expiries: usize,
    /// The function that has the majority of the timers, if any has, and its votes (Boyer and Moore).
    function: u64,
    votes: usize,
    left_ns: i64,
}

impl Interrupt {
    fn entered(event: &Event) -> Self {
        Self {
            entry: event.what,
            entered_ns: event.ts_ns,
            first_expiry_ns: event.ts_ns,
            last_end_ns: event.ts_ns,
            expiries: 0,
            function: 0,
            votes: 0,
            left_ns: event.ts_ns,
        }
    }

    fn expired(&mut self, at_ns: i64, function: u64) {
        if self.expiries == 0 {
            self.first_expiry_ns = at_ns;
        }
        self.expiries += 1;
        match self.votes {
            0 => (self.function, self.votes) = (function, 1),
            votes if self.function == function => self.votes = votes + 1,
            votes => self.votes = votes - 1,
        }
    }

    /// Whether an interrupt that is entered at this instant is the one that the kernel deferred because of this one.
    fn deferred(&self, next_ns: i64) -> bool {
        let least_ns = (self.last_end_ns - self.first_expiry_ns).min(DEFERRED_NS_MAX);
        let most_ns = (self.left_ns - self.entered_ns).min(DEFERRED_NS_MAX);
        let delivery_ns = DELIVERY_NS_MAX.max(most_ns / 20);
        self.expiries >= EXPIRIES_MIN
            && (self.last_end_ns + least_ns..=self.left_ns + most_ns + delivery_ns).contains(&next_ns)
    }
}

/// Follows the interrupts of one CPU.
#[derive(Debug, Default)]
pub struct TimerInterrupts {
    open: Option<Interrupt>,
    ended: Option<Interrupt>,
    deferrals: Vec<Deferral>,
}

impl TimerInterrupts {
    #[inline]
    pub fn feed(&mut self, event: &Event, window: Window) {
        match event.what {
            EventKind::VectorEntry { .. } | EventKind::IrqEntry { .. } => {
                if let Some(ended) = self.ended.take_if(|ended| ended.entry == event.what)
                    && ended.deferred(event.ts_ns)
                    && ended.left_ns < window.seen_ns
                    && event.ts_ns > window.due_ns
                {
                    let Interrupt { entered_ns, left_ns: start_ns, function, .. } = ended;
                    self.deferrals.push(Deferral { entered_ns, start_ns, end_ns: event.ts_ns, function });
                }
                self.open = Some(Interrupt::entered(event));
            }
            EventKind::HrtimerExpireEntry { function, .. } => {
                if let Some(open) = &mut self.open {
                    open.expired(event.ts_ns, function);
                }
            }
            EventKind::HrtimerExpireExit { .. } => {
                if let Some(open) = &mut self.open {
                    open.last_end_ns = event.ts_ns;
                }
            }
            EventKind::VectorExit { .. } | EventKind::IrqExit { .. } => {
                if let Some(open) = self.open.take().filter(|open| open.expiries > 0) {
                    self.ended = Some(Interrupt { left_ns: event.ts_ns, ..open });
                }
            }
            _ => {}
        }
    }

    /// Records are lost: what was known of interrupts is forgotten.
    pub fn gap(&mut self) {
        (self.open, self.ended) = (None, None);
    }

    /// Timers between due and seen.
    pub fn deferrals(self) -> Vec<Deferral> {
        self.deferrals
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::event::Vector;

    const WINDOW: Window =
        Window { due_ns: 0, seen_ns: 200_000, start_ns: -5_000, end_ns: 250_000, lookback_ns: -100_000 };
    const TIMER: Vector = Vector::LocalTimer;

    fn event(ts_ns: i64, what: EventKind) -> Event<'static> {
        Event { ts_ns, cpu: 1, tid: 7, flags: 0, depth: 0, what, id: 0, payload: &[] }
    }

    /// An interrupt from -30 µs to 12 µs that executes timers until 10 µs.
    fn busy(expiries: i64) -> Vec<Event<'static>> {
        let mut events = vec![event(-30_000, EventKind::VectorEntry { vector: TIMER })];
        for at_ns in (0..expiries).map(|index| 8_000 - index * 2_000).rev() {
            events.push(event(
                at_ns,
                EventKind::HrtimerExpireEntry { timer: 1, function: if at_ns == 8_000 { 3 } else { 2 } },
            ));
            events.push(event(at_ns + 1_900, EventKind::HrtimerExpireExit { timer: 1 }));
        }
        events.push(event(12_000, EventKind::VectorExit { vector: TIMER }));
        events
    }

    fn found(mut events: Vec<Event<'static>>, next_ns: i64, vector: Vector) -> Vec<Deferral> {
        events.push(event(next_ns, EventKind::VectorEntry { vector }));
        let mut interrupts = TimerInterrupts::default();
        events.iter().for_each(|event| interrupts.feed(event, WINDOW));
        interrupts.deferrals()
    }

    #[test]
    fn the_next_interrupt_comes_as_late_as_the_one_before_was_long() {
        let deferral = Deferral { entered_ns: -30_000, start_ns: 12_000, end_ns: 50_000, function: 2 };
        assert_eq!(found(busy(18), 50_000, TIMER), [deferral]);
    }

    #[test]
    fn one_that_comes_sooner_or_later_was_not_deferred() {
        assert_eq!(found(busy(18), 20_000, TIMER), []);
        assert_eq!(found(busy(18), 90_000, TIMER), []);
    }

    #[test]
    fn fewer_timers_than_rounds_defer_nothing() {
        assert_eq!(found(busy(2), 50_000, TIMER), []);
    }

    #[test]
    fn an_interrupt_of_another_kind_is_not_the_next_one() {
        assert_eq!(found(busy(18), 50_000, Vector::Reschedule), []);
    }

    #[test]
    fn lost_records_end_what_is_known() {
        let mut interrupts = TimerInterrupts::default();
        busy(18).iter().for_each(|event| interrupts.feed(event, WINDOW));
        interrupts.gap();
        interrupts.feed(&event(50_000, EventKind::VectorEntry { vector: TIMER }), WINDOW);
        assert_eq!(interrupts.deferrals(), []);
    }
}
