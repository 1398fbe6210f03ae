//! When to shed the next kind of events, and when to record one again.

use archive::watched::guard::EventKind;
use std::time::Duration;

/// Calm time before a kind is recorded again, at first and at most.
const CALM_FIRST: Duration = Duration::from_secs(60);
const CALM_MAX: Duration = Duration::from_secs(3600);
/// Multiple of the budget above which two kinds go at once.
const STORM: f64 = 4.0;
/// Part of the budget below which it is calm.
const CALM_SHARE: f64 = 0.8;

/// The kinds that are shed, first kinds first.
#[derive(Debug)]
pub struct Shedding {
    budget_percent: f64,
    kinds: usize,
    calm: Duration,
    /// Doubles when a kind that was recorded again had to be shed again.
    calm_needed: Duration,
    restored_last: bool,
}

impl Shedding {
    pub fn of(budget_percent: f64) -> Self {
        Self { budget_percent, kinds: 0, calm: Duration::ZERO, calm_needed: CALM_FIRST, restored_last: false }
    }

    pub fn kinds(&self) -> &'static [EventKind] {
        EventKind::first(self.kinds)
    }

    /// Takes the cost of a stretch into account. Returns the number of kinds to shed if it changes.
    pub fn weigh(&mut self, cost_percent: f64, stretch: Duration) -> Option<usize> {
        if cost_percent > self.budget_percent {
            self.calm = Duration::ZERO;
            if self.kinds == EventKind::ORDER.len() {
                return None;
            }
            if std::mem::take(&mut self.restored_last) {
                self.calm_needed = (self.calm_needed * 2).min(CALM_MAX);
            }
            let step = if cost_percent > self.budget_percent * STORM { 2 } else { 1 };
            self.kinds = (self.kinds + step).min(EventKind::ORDER.len());
            return Some(self.kinds);
        }
        if self.kinds == 0 || cost_percent > self.budget_percent * CALM_SHARE {
            return None;
        }
        self.calm += stretch;
        if self.calm < self.calm_needed {
            return None;
        }
        self.calm = Duration::ZERO;
        self.restored_last = true;
        self.kinds -= 1;
        Some(self.kinds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STRETCH: Duration = Duration::from_secs(10);

    fn weighed(shedding: &mut Shedding, cost_percent: f64, stretches: usize) -> Vec<usize> {
        (0..stretches).filter_map(|_| shedding.weigh(cost_percent, STRETCH)).collect()
    }

    #[test]
    fn kinds_go_one_by_one_and_return_after_a_calm_time() {
        let mut shedding = Shedding::of(0.5);
        assert_eq!(weighed(&mut shedding, 0.4, 100), Vec::<usize>::new());
        assert_eq!(weighed(&mut shedding, 0.7, 2), [1, 2]);
        assert_eq!(shedding.kinds(), [EventKind::Power, EventKind::Charges]);
        assert_eq!(weighed(&mut shedding, 0.45, 100), Vec::<usize>::new(), "a kind more would cost too much");
        assert_eq!(weighed(&mut shedding, 0.2, 6), [1]);
        assert_eq!(weighed(&mut shedding, 0.2, 6), [0]);
        assert_eq!(weighed(&mut shedding, 0.7, 1), [1]);
        assert_eq!(weighed(&mut shedding, 9.0, 10), [3, 5, 6], "all six kinds are shed");
    }

    #[test]
    fn a_kind_that_costs_too_much_again_waits_longer_each_time() {
        let mut shedding = Shedding::of(0.5);
        assert_eq!(weighed(&mut shedding, 0.7, 1), [1]);
        assert_eq!(weighed(&mut shedding, 0.1, 6), [0]);
        assert_eq!(weighed(&mut shedding, 0.7, 1), [1]);
        assert_eq!(weighed(&mut shedding, 0.1, 11), Vec::<usize>::new(), "twice the time");
        assert_eq!(weighed(&mut shedding, 0.1, 1), [0]);
    }
}
