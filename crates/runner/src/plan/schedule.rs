//! When a plan is done again. Starts are counted from the first one, so that a long round shifts none after it.
//!
//! Whoever waits for starts (a loop on this machine today, a queue elsewhere) asks [`Schedule::next_after`] and needs no
//! more. Time is what has passed since the first start, by a clock that nobody sets: a day that somebody corrects by
//! hours neither skips a round nor holds one back.

use std::time::Duration;

/// Starts at regular distances.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Schedule {
    every: Duration,
}

/// A start to come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Start {
    /// From 0, which is the first one.
    pub number: u64,
    /// Time from the first one on.
    pub at: Duration,
}

impl Schedule {
    /// `every` is longer than nothing.
    pub fn new(every: Duration) -> Self {
        Self { every: every.max(Duration::from_nanos(1)) }
    }

    /// The first start later than `passed`. Those that went by meanwhile are not made up for.
    pub fn next_after(&self, passed: Duration) -> Option<Start> {
        let number = passed.as_nanos() / self.every.as_nanos() + 1;
        let after_ns = number.checked_mul(self.every.as_nanos())?;
        let seconds = u64::try_from(after_ns / 1_000_000_000).ok()?;
        let at = Duration::new(seconds, (after_ns % 1_000_000_000) as u32);
        Some(Start { number: u64::try_from(number).ok()?, at })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);

    #[test]
    fn starts_are_counted_from_the_first() {
        let schedule = Schedule::new(12 * HOUR);
        let next = |passed: Duration| schedule.next_after(passed).unwrap();
        assert_eq!(next(Duration::ZERO), Start { number: 1, at: 12 * HOUR });
        assert_eq!(next(6 * HOUR), Start { number: 1, at: 12 * HOUR });
        // A round of 13 hours makes the second start pass; the third is where it would have been anyway.
        assert_eq!(next(13 * HOUR), Start { number: 2, at: 24 * HOUR });
        assert_eq!(next(12 * HOUR), Start { number: 2, at: 24 * HOUR });
    }

    #[test]
    fn what_no_clock_can_show_is_never() {
        let schedule = Schedule::new(Duration::MAX);
        assert_eq!(schedule.next_after(Duration::MAX), None);
        assert!(Schedule::new(Duration::ZERO).next_after(Duration::ZERO).is_some());
    }
}
