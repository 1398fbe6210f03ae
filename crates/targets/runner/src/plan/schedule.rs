//! Start times of a plan's rounds. They are multiples of the period after the first start, so a long round does not
//! shift later ones.
//!
//! Anything that waits for starts (a loop on this machine, a queue elsewhere) needs only [`Schedule::next_after`]. Time
//! is monotonic from the first start: setting the wall clock neither skips nor delays a round.

use std::time::Duration;

/// Periodic starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Schedule {
    every: Duration,
}

/// A future start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Start {
    /// From 0, the first one.
    pub number: u64,
    /// Time since the first one.
    pub at: Duration,
}

impl Schedule {
    /// `every` is clamped to at least 1 ns.
    pub fn new(every: Duration) -> Self {
        Self { every: every.max(Duration::from_nanos(1)) }
    }

    /// The first start later than `passed`. Missed starts are skipped.
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
        // A round of 13 hours misses the second start; the third is unchanged.
        assert_eq!(next(13 * HOUR), Start { number: 2, at: 24 * HOUR });
        assert_eq!(next(12 * HOUR), Start { number: 2, at: 24 * HOUR });
    }

    #[test]
    fn an_instant_beyond_the_clock_never_comes() {
        let schedule = Schedule::new(Duration::MAX);
        assert_eq!(schedule.next_after(Duration::MAX), None);
        assert!(Schedule::new(Duration::ZERO).next_after(Duration::ZERO).is_some());
    }
}
