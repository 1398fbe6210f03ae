//! Quantiles of the last minute: the difference of two states of a histogram that only grows.

use archive::histogram::Histogram;
use std::collections::VecDeque;
use std::time::Duration;

/// Length of the stretch.
pub const MINUTE: Duration = Duration::from_secs(60);

/// States of the histogram of a series, the newest last, one of which is at least a minute old once there is such a one.
#[derive(Debug, Default)]
pub struct LastMinute {
    states: VecDeque<(Duration, Histogram)>,
}

impl LastMinute {
    /// Adds the state at this instant since the start.
    pub fn add(&mut self, now: Duration, histogram: Histogram) {
        self.states.push_back((now, histogram));
        while self.states.get(1).is_some_and(|(at, _)| *at + MINUTE <= now) {
            self.states.pop_front();
        }
    }

    /// Samples since the newest state that is a minute old, or since the start.
    pub fn samples(&self, now: Duration) -> Histogram {
        let before = self.states.iter().rev().find(|(at, _)| *at + MINUTE <= now);
        let newest = self.states.back().map(|(_, histogram)| histogram);
        match (newest, before) {
            (Some(newest), Some((_, before))) => difference(newest, before),
            (newest, _) => newest.cloned().unwrap_or_default(),
        }
    }
}

fn difference(newest: &Histogram, before: &Histogram) -> Histogram {
    let mut earlier = before.buckets.iter().copied().peekable();
    let left = newest.buckets.iter().filter_map(|(bucket, count)| {
        while earlier.next_if(|(other, _)| other < bucket).is_some() {}
        let of_before = earlier.next_if(|(other, _)| other == bucket).map_or(0, |(_, count)| count);
        Some((*bucket, count.checked_sub(of_before).filter(|left| *left > 0)?))
    });
    Histogram { buckets: left.collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(number: u64) -> Duration {
        Duration::from_secs(number)
    }

    fn histogram(buckets: &[(u32, u64)]) -> Histogram {
        Histogram { buckets: buckets.to_vec() }
    }

    #[test]
    fn samples_older_than_a_minute_leave_the_figures() {
        let mut minute = LastMinute::default();
        assert_eq!(minute.samples(seconds(1)), Histogram::default());
        minute.add(seconds(1), histogram(&[(10, 4), (900, 1)]));
        assert_eq!(minute.samples(seconds(2)).total(), 5, "since the start");
        minute.add(seconds(31), histogram(&[(9, 1), (10, 5), (900, 1)]));
        assert_eq!(minute.samples(seconds(31)).total(), 7);
        assert_eq!(minute.samples(seconds(61)), histogram(&[(9, 1), (10, 1)]));
        assert_eq!(minute.samples(seconds(200)), Histogram::default(), "it has slept for a minute");
        minute.add(seconds(200), histogram(&[(9, 1), (10, 5), (11, 2), (900, 1)]));
        assert_eq!(minute.samples(seconds(200)), histogram(&[(11, 2)]));
        assert_eq!(minute.states.len(), 2);
    }
}
