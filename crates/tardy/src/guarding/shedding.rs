//! When to shed the next kind of events, and when to record one again.

use archive::watched::guard::EventKind;
use std::time::Duration;

/// Calm time before a kind is recorded again, at first and at most.
const CALM_FIRST: Duration = Duration::from_secs(60);
const CALM_MAX: Duration = Duration::from_secs(3600);
/// Time above the budget after which a kind goes: a program that starts, or a burst of page faults, is over by then.
const PATIENCE: Duration = Duration::from_secs(27);
/// Multiple of the budget above which two kinds go at once.
const STORM: f64 = 4.0;
/// Multiple of the budget above which the last kind goes: without it a guard names no cause.
const BLIND: f64 = 1.25;
/// Time in which the estimate of what a kind costs halves: a kind that was shed in a storm costs less afterwards, and only recording it
/// again shows how much.
const HALF_LIFE: Duration = Duration::from_secs(120);
/// Part of the budget below which there is room for a kind, with what shedding it saved.
const ROOM: f64 = 0.95;

/// The kinds that are shed, first kinds first.
#[derive(Debug)]
pub struct Shedding {
    budget_percent: f64,
    kinds: usize,
    /// Cost of each of these kinds, in percent of a CPU: the difference that shedding it made, which fades.
    saved_percent: Vec<f64>,
    /// The cost before the last shedding, whose effect is not known yet.
    before_percent: Option<f64>,
    /// Time above the budget, less the time below it.
    above: Duration,
    calm: Duration,
    /// Doubles when a kind that was recorded again had to be shed again.
    calm_needed: Duration,
    restored_last: bool,
}

impl Shedding {
    pub fn of(budget_percent: f64) -> Self {
        Self {
            budget_percent,
            kinds: 0,
            saved_percent: Vec::new(),
            before_percent: None,
            above: Duration::ZERO,
            calm: Duration::ZERO,
            calm_needed: CALM_FIRST,
            restored_last: false,
        }
    }

    pub fn kinds(&self) -> &'static [EventKind] {
        EventKind::first(self.kinds)
    }

    /// Takes the cost of a stretch into account. Returns the number of kinds to shed if it changes.
    pub fn weigh(&mut self, cost_percent: f64, stretch: Duration) -> Option<usize> {
        if let Some(before_percent) = self.before_percent.take() {
            let shed = self.kinds - self.saved_percent.len();
            let each = (before_percent - cost_percent).max(0.0) / shed.max(1) as f64;
            self.saved_percent.resize(self.kinds, each);
        }
        let left = EventKind::ORDER.len() - self.kinds;
        let too_much = self.budget_percent * if left == 1 { BLIND } else { 1.0 };
        if left > 0 && cost_percent > too_much {
            self.calm = Duration::ZERO;
            self.above += stretch;
            let is_storm = cost_percent > self.budget_percent * STORM;
            return (is_storm || self.above >= PATIENCE).then(|| self.shed(cost_percent, if is_storm { 2 } else { 1 }));
        }
        self.above = self.above.saturating_sub(stretch);
        let faded = 0.5_f64.powf(stretch.as_secs_f64() / HALF_LIFE.as_secs_f64());
        self.saved_percent.iter_mut().for_each(|saved_percent| *saved_percent *= faded);
        let saved_percent = self.saved_percent.last()?;
        if cost_percent + saved_percent > self.budget_percent * ROOM {
            self.calm = Duration::ZERO;
            return None;
        }
        self.calm += stretch;
        if self.calm < self.calm_needed {
            return None;
        }
        self.calm = Duration::ZERO;
        self.restored_last = true;
        self.kinds -= 1;
        self.saved_percent.truncate(self.kinds);
        Some(self.kinds)
    }

    fn shed(&mut self, cost_percent: f64, step: usize) -> usize {
        self.above = Duration::ZERO;
        if std::mem::take(&mut self.restored_last) {
            self.calm_needed = (self.calm_needed * 2).min(CALM_MAX);
        }
        self.before_percent = Some(cost_percent);
        self.kinds = (self.kinds + step).min(EventKind::ORDER.len());
        self.kinds
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
    fn kinds_go_one_by_one_and_return_once_there_is_room_for_what_they_cost() {
        let mut shedding = Shedding::of(0.5);
        assert_eq!(weighed(&mut shedding, 0.4, 100), Vec::<usize>::new());
        assert_eq!(weighed(&mut shedding, 0.7, 2), Vec::<usize>::new(), "a burst");
        assert_eq!(weighed(&mut shedding, 0.4, 2), Vec::<usize>::new());
        assert_eq!(weighed(&mut shedding, 0.7, 2), Vec::<usize>::new());
        assert_eq!(weighed(&mut shedding, 0.4, 1), Vec::<usize>::new());
        assert_eq!(weighed(&mut shedding, 0.7, 2), [1], "more often above than below");
        assert_eq!(weighed(&mut shedding, 0.6, 3), [2], "the first one saved 0.1");
        assert_eq!(shedding.kinds(), [EventKind::Power, EventKind::Charges]);
        assert_eq!(weighed(&mut shedding, 0.45, 18), Vec::<usize>::new(), "the second one cost 0.15");
        assert_eq!(weighed(&mut shedding, 0.3, 6), [1]);
        assert_eq!(weighed(&mut shedding, 0.36, 6), [0], "it would cost 0.46 again");
        assert_eq!(weighed(&mut shedding, 9.0, 10), [2, 4, 6], "all six kinds are shed");
    }

    #[test]
    fn a_guard_sees_again_after_a_storm() {
        let mut shedding = Shedding::of(0.5);
        assert_eq!(weighed(&mut shedding, 5.4, 3), [2, 4, 6]);
        let restored = |shedding: &mut Shedding| (1..).find(|_| shedding.weigh(0.3, STRETCH).is_some());
        let minutes = restored(&mut shedding).unwrap() * 10 / 60;
        assert!((5..=12).contains(&minutes), "{minutes} min");
        assert_eq!(weighed(&mut shedding, 0.3, 200), [4, 3, 2, 1, 0]);
    }

    #[test]
    fn the_last_kind_goes_only_where_it_must() {
        let mut shedding = Shedding::of(0.5);
        assert_eq!(weighed(&mut shedding, 0.6, 20), [1, 2, 3, 4, 5]);
        assert!(!shedding.kinds().contains(&EventKind::Rest));
        assert_eq!(weighed(&mut shedding, 0.63, 10), [6]);
    }

    #[test]
    fn a_kind_that_costs_too_much_again_waits_longer_each_time() {
        let mut shedding = Shedding::of(0.5);
        assert_eq!(weighed(&mut shedding, 0.7, 3), [1]);
        assert_eq!(weighed(&mut shedding, 0.3, 1), Vec::<usize>::new(), "it saved 0.4");
        assert_eq!(weighed(&mut shedding, 0.05, 6), [0]);
        assert_eq!(weighed(&mut shedding, 0.7, 3), [1]);
        assert_eq!(weighed(&mut shedding, 0.3, 1), Vec::<usize>::new());
        assert_eq!(weighed(&mut shedding, 0.05, 11), Vec::<usize>::new(), "twice the time");
        assert_eq!(weighed(&mut shedding, 0.05, 1), [0]);
    }
}
