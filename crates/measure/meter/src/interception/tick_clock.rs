//! From ticks of the cycle counter to ns of CLOCK_MONOTONIC.

use crate::kernel::{clock, ticks};

/// Readings of both clocks, of which the closest is taken.
const TRIES: usize = 5;

/// Both clocks at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    pub ticks: u64,
    pub ns: i64,
}

impl Moment {
    fn now() -> Option<Self> {
        let tries = (0..TRIES).filter_map(|_| {
            let (before_ns, ticks, after_ns) = (clock::monotonic_ns(), ticks::now()?, clock::monotonic_ns());
            Some((after_ns - before_ns, Self { ticks, ns: before_ns + (after_ns - before_ns) / 2 }))
        });
        tries.min_by_key(|(width_ns, _)| *width_ns).map(|(_, moment)| moment)
    }
}

/// A line through moments of both clocks. Between the last two it is exact to their error; before them it takes the line
/// from the first one.
#[derive(Debug, Clone, Copy)]
pub struct TickClock {
    first: Moment,
    before: Moment,
    last: Moment,
}

impl TickClock {
    /// `None` on a machine without the counter.
    pub fn new() -> Option<Self> {
        Moment::now().map(|first| Self { first, before: first, last: first })
    }

    /// Reads both clocks again; ticks up to now are converted best after it.
    pub fn advance(&mut self) {
        if let Some(now) = Moment::now() {
            (self.before, self.last) = (self.last, now);
        }
    }

    /// The instant of a tick. Any number is converted: an untrusted program wrote it.
    pub fn ns(&self, ticks: u64) -> i64 {
        let from = if ticks >= self.before.ticks { self.before } else { self.first };
        let span_ticks = i128::from(self.last.ticks) - i128::from(from.ticks);
        let span_ns = i128::from(self.last.ns) - i128::from(from.ns);
        if span_ticks <= 0 {
            return self.last.ns;
        }
        let since = i128::from(ticks) - i128::from(from.ticks);
        let ns = (since.saturating_mul(span_ns) / span_ticks).saturating_add(i128::from(from.ns));
        i64::try_from(ns).unwrap_or(if since < 0 { i64::MIN } else { i64::MAX })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn moment() -> impl Strategy<Value = Moment> {
        (any::<u64>(), any::<i64>()).prop_map(|(ticks, ns)| Moment { ticks, ns })
    }

    #[test]
    fn a_tick_between_two_moments_is_between_their_instants() {
        let at = |ticks, ns| Moment { ticks, ns };
        let clock = TickClock { first: at(1000, 0), before: at(3000, 1000), last: at(5000, 2100) };
        assert_eq!([clock.ns(3000), clock.ns(4000), clock.ns(5000)], [1000, 1550, 2100]);
        assert_eq!([clock.ns(1000), clock.ns(2000)], [0, 525]);
    }

    proptest! {
        #[test]
        fn any_ticks_are_some_instant(first in moment(), before in moment(), last in moment(), ticks: u64) {
            TickClock { first, before, last }.ns(ticks);
        }
    }
}
