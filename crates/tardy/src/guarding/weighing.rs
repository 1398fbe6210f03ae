//! The cost of a watch against its budget while it goes on: read at each look, weighed every few seconds, lowered by shedding.

use super::cost::{CostMeter, Spent};
use super::price::Untraced;
use super::shedding::Shedding;
use archive::watched::guard::EventKind;
use std::time::Duration;

/// Reading the cost costs something, too.
const READ_EVERY: Duration = Duration::from_millis(4500);
/// Stretch over which the cost is weighed: two readings.
const WEIGHED: Duration = Duration::from_secs(9);

/// The cost of the sessions of a watch.
pub struct Weighing {
    shedding: Shedding,
    /// Price of a recorded event, once it is known.
    event_ns: Option<f64>,
    untraced: Option<Untraced>,
    /// Everything since the start.
    spent: Spent,
    /// Counts while a session goes on.
    cost: Option<CostMeter>,
    /// The stretch that is not weighed yet.
    stretch: Spent,
    /// Stretches, with this one, in which a miss may have been copied: copying may go on beyond the end of one.
    stretches_with_miss: u8,
    /// The last stretch without a miss.
    without_miss: Option<Spent>,
    weighed_percent: Option<f64>,
}

/// The result for a stretch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Weighed {
    pub cost_percent: f64,
    /// The number of kinds to shed, if it changes.
    pub shed: Option<usize>,
    pub is_first: bool,
}

impl Weighing {
    /// Measures the machine without a trace.
    pub fn of(budget_percent: f64) -> Self {
        Self {
            shedding: Shedding::of(budget_percent),
            event_ns: None,
            untraced: Untraced::measure(),
            spent: Spent::default(),
            cost: None,
            stretch: Spent::default(),
            stretches_with_miss: 0,
            without_miss: None,
            weighed_percent: None,
        }
    }

    /// Begins to count: the trace of this meter is on, which also records into the instance `kept`. Returns the price of an event in ns if it was measured now.
    pub fn begin(&mut self, meter: i32, kept: Option<&str>, left_out: Vec<i32>) -> Option<f64> {
        let mut cost = CostMeter::of(meter, kept, left_out);
        let measured = self.untraced.take().map(|untraced| untraced.event_ns(&mut cost));
        if measured.is_some() {
            self.event_ns = measured;
            cost.read();
        }
        self.cost = Some(cost);
        measured
    }

    pub fn counts(&self) -> bool {
        self.cost.is_some()
    }

    /// Reads the cost every few seconds; weighs it at the end of each stretch.
    pub fn look(&mut self) -> Option<Weighed> {
        let cost = self.cost.as_mut().filter(|cost| cost.is_older_than(READ_EVERY))?;
        self.stretch = self.stretch.and(&cost.read());
        if self.stretch.elapsed < WEIGHED { None } else { self.weigh() }
    }

    /// A miss was copied: fewer events would not make that cheaper, so the threads count as if they had only read the events.
    pub fn miss(&mut self) {
        self.stretches_with_miss = 2;
    }

    /// Ends a session: weighs what is left.
    pub fn end(&mut self) -> Option<Weighed> {
        self.cost = None;
        if self.stretch.elapsed < WEIGHED / 2 {
            // Too short to judge by.
            self.spent = self.spent.and(&std::mem::take(&mut self.stretch));
            return None;
        }
        self.weigh()
    }

    fn weigh(&mut self) -> Option<Weighed> {
        let stretch = std::mem::take(&mut self.stretch);
        if stretch.elapsed.is_zero() {
            return None;
        }
        self.spent = self.spent.and(&stretch);
        let cost_percent = stretch.percent(self.event_ns.unwrap_or(0.0));
        let is_first = self.weighed_percent.replace(cost_percent).is_none();
        let has_miss = self.stretches_with_miss > 0;
        self.stretches_with_miss = self.stretches_with_miss.saturating_sub(1);
        let steady = match self.without_miss {
            _ if !has_miss => stretch,
            Some(before) => stretch.reading_as_in(&before),
            None => Spent { threads_ns: 0, ..stretch },
        };
        let steady_percent = steady.percent(self.event_ns.unwrap_or(0.0));
        if !has_miss {
            self.without_miss = Some(stretch);
        }
        Some(Weighed { cost_percent, shed: self.shedding.weigh(steady_percent, stretch.elapsed), is_first })
    }

    /// The kinds of events that are not recorded.
    pub fn kinds(&self) -> &'static [EventKind] {
        self.shedding.kinds()
    }

    /// The whole cost since the start.
    pub fn whole_percent(&self) -> f64 {
        self.spent.percent(self.event_ns.unwrap_or(0.0))
    }

    /// The cost of the last stretch; of the first one so far, until it is complete.
    pub fn recent_percent(&self) -> Option<f64> {
        let first = || (!self.stretch.elapsed.is_zero()).then(|| self.stretch.percent(self.event_ns.unwrap_or(0.0)));
        self.weighed_percent.or_else(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spent(seconds: u64, threads_ns: u64) -> Spent {
        Spent { elapsed: Duration::from_secs(seconds), threads_ns, events: 0 }
    }

    #[test]
    fn a_stretch_above_the_budget_sheds_a_kind() {
        let mut weighing = Weighing { untraced: None, ..Weighing::of(0.5) };
        assert_eq!((weighing.look(), weighing.recent_percent()), (None, None), "nothing is counted yet");
        weighing.stretch = spent(5, 5_000_000);
        assert_eq!(weighing.recent_percent(), Some(0.1));
        let mut weigh = |is_first: bool, shed: Option<usize>| {
            weighing.stretch = spent(10, 80_000_000);
            assert_eq!(weighing.end(), Some(Weighed { cost_percent: 0.8, shed, is_first }));
        };
        weigh(true, None);
        weigh(false, None);
        weigh(false, Some(1));
        assert_eq!((weighing.kinds().len(), weighing.recent_percent()), (1, Some(0.8)));
        weighing.stretch = spent(10, 20_000_000);
        assert_eq!(weighing.end(), Some(Weighed { cost_percent: 0.2, shed: None, is_first: false }));
        assert!((weighing.whole_percent() - 0.65).abs() < 1e-9);
        assert_eq!(weighing.end(), None);
    }

    #[test]
    fn copying_a_miss_sheds_nothing_and_a_storm_of_events_beside_it_does() {
        let mut weighing = Weighing { untraced: None, event_ns: Some(100.0), ..Weighing::of(0.5) };
        let mut weigh = |threads_ns: u64, events: u64, has_miss: bool| {
            weighing.stretch = Spent { events, ..spent(10, threads_ns) };
            weighing.stretches_with_miss = u8::from(has_miss);
            weighing.end().unwrap()
        };
        assert!((0..20).all(|_| weigh(500_000_000, 1000, true).shed.is_none()), "misses from the start");
        assert_eq!(weigh(20_000_000, 100_000, false).shed, None, "0.2 % and 0.1 %");
        let with_miss = weigh(500_000_000, 100_000, true);
        assert!((with_miss.cost_percent - 5.1).abs() < 1e-9 && with_miss.shed.is_none(), "{with_miss:?}");
        assert!((0..20).all(|_| weigh(500_000_000, 1000, true).shed.is_none()), "misses all the time");
        let shed: Vec<Option<usize>> = (0..3).map(|_| weigh(500_000_000, 400_000, true).shed).collect();
        assert_eq!(shed, [None, None, Some(1)], "0.4 % by events, which the threads read, too");
    }
}
