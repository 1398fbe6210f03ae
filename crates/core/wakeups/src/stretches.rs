//! Stretches of equal length into which a long run is divided, and the samples that are news in theirs.

/// Where stretches begin. All instants in ns of CLOCK_MONOTONIC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stretches {
    length_ns: i64,
    /// Beginning of some stretch.
    first_ns: i64,
}

impl Stretches {
    /// Stretches of this length that begin at its multiples on the wall clock, which is `realtime_offset_ns` ahead.
    pub fn of(length_ns: u64, realtime_offset_ns: i64) -> Self {
        let length_ns = i64::try_from(length_ns).unwrap_or(i64::MAX).max(1);
        Self { length_ns, first_ns: realtime_offset_ns.rem_euclid(length_ns).wrapping_neg() }
    }

    /// The number of the stretch with this instant.
    pub fn number(&self, instant_ns: i64) -> i64 {
        instant_ns.saturating_sub(self.first_ns).div_euclid(self.length_ns)
    }

    fn end_ns(&self, instant_ns: i64) -> i64 {
        let begun = self.number(instant_ns).saturating_mul(self.length_ns).saturating_add(self.first_ns);
        begun.saturating_add(self.length_ns)
    }
}

/// The largest announced sample of the current stretch of one thread.
#[derive(Debug, Clone, Copy)]
pub struct StretchMaximum {
    stretches: Option<Stretches>,
    end_ns: i64,
    announced_ns: i64,
}

impl StretchMaximum {
    pub fn new(stretches: Option<Stretches>) -> Self {
        Self { stretches, end_ns: i64::MIN, announced_ns: i64::MIN }
    }

    /// Whether a sample is a tenth larger than those that were announced in its stretch before it. Maxima creep up: with
    /// every one of them, a stretch would begin with a snapshot for almost each wake-up.
    #[inline]
    pub fn is_news(&mut self, seen_ns: i64, latency_ns: i64) -> bool {
        let Some(stretches) = &self.stretches else { return false };
        if seen_ns >= self.end_ns {
            self.end_ns = stretches.end_ns(seen_ns);
            self.announced_ns = i64::MIN;
        }
        self.announced_ns == i64::MIN || latency_ns > self.announced_ns.saturating_add(self.announced_ns / 10)
    }

    /// A sample of the current stretch gets a snapshot.
    #[inline]
    pub fn announce(&mut self, latency_ns: i64) {
        self.announced_ns = self.announced_ns.max(latency_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR_NS: i64 = 3_600_000_000_000;

    #[test]
    fn stretches_begin_at_full_hours_of_the_wall_clock() {
        let offset_ns = 5 * HOUR_NS + 20;
        let stretches = Stretches::of(HOUR_NS as u64, offset_ns);
        let begins_ns = 3 * HOUR_NS - offset_ns;
        assert_eq!(stretches.number(begins_ns - 1) + 1, stretches.number(begins_ns));
        assert_eq!(stretches.number(begins_ns), stretches.number(begins_ns + HOUR_NS - 1));
        assert_eq!(stretches.end_ns(begins_ns), begins_ns + HOUR_NS);
        assert_eq!(Stretches::of(0, i64::MIN).number(7), 7, "any settings");
    }

    #[test]
    fn each_stretch_has_maxima_of_its_own() {
        let mut maximum = StretchMaximum::new(Some(Stretches::of(1000, 0)));
        let mut news = |seen_ns, latency_ns| {
            let news = maximum.is_news(seen_ns, latency_ns);
            if news {
                maximum.announce(latency_ns);
            }
            news
        };
        let found = [(10, 500), (20, 540), (30, 560), (999, 900), (1000, 40), (1001, 40), (1002, 50), (5000, 1)];
        let found = found.map(|(seen_ns, latency_ns)| news(seen_ns, latency_ns));
        assert_eq!(found, [true, false, true, true, true, false, true, true]);
        assert!(!StretchMaximum::new(None).is_news(0, i64::MAX), "a short run has no stretches");
    }
}
