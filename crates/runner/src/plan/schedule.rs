//! When a plan is done again. Starts are counted from the first one, so that a long round shifts none after it.
//!
//! Whoever waits for starts (a loop on this machine today, a queue elsewhere) asks [`Schedule::next_after`] and needs no
//! more.

use std::time::{Duration, SystemTime};

/// Starts at regular distances.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Schedule {
    first: SystemTime,
    every: Duration,
}

/// A start to come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Start {
    /// From 0, which is the first one.
    pub number: u64,
    pub at: SystemTime,
}

impl Schedule {
    /// `every` is longer than nothing.
    pub fn new(first: SystemTime, every: Duration) -> Self {
        Self { first, every: every.max(Duration::from_nanos(1)) }
    }

    /// The first start later than `now`. Those that passed meanwhile are not made up for; a clock that was set back
    /// repeats none before the second.
    pub fn next_after(&self, now: SystemTime) -> Option<Start> {
        let passed = now.duration_since(self.first).unwrap_or_default();
        let number = passed.as_nanos() / self.every.as_nanos() + 1;
        let after_ns = number.checked_mul(self.every.as_nanos())?;
        let seconds = u64::try_from(after_ns / 1_000_000_000).ok()?;
        let after = Duration::new(seconds, (after_ns % 1_000_000_000) as u32);
        Some(Start { number: u64::try_from(number).ok()?, at: self.first.checked_add(after)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::UNIX_EPOCH;

    const HOUR: Duration = Duration::from_secs(3600);

    #[test]
    fn starts_are_counted_from_the_first() {
        let first = UNIX_EPOCH + 7 * HOUR;
        let schedule = Schedule::new(first, 12 * HOUR);
        let next = |now: SystemTime| schedule.next_after(now).unwrap();
        assert_eq!(next(first + 6 * HOUR), Start { number: 1, at: first + 12 * HOUR });
        // A round of 13 hours makes the second start pass; the third is where it would have been anyway.
        assert_eq!(next(first + 13 * HOUR), Start { number: 2, at: first + 24 * HOUR });
        assert_eq!(next(first + 12 * HOUR), Start { number: 2, at: first + 24 * HOUR });
        assert_eq!(next(UNIX_EPOCH).number, 1, "the clock was set back");
    }

    #[test]
    fn what_no_clock_can_show_is_never() {
        let schedule = Schedule::new(UNIX_EPOCH, Duration::MAX);
        assert_eq!(schedule.next_after(UNIX_EPOCH), None);
        assert!(Schedule::new(UNIX_EPOCH, Duration::ZERO).next_after(UNIX_EPOCH).is_some());
    }
}
