//! A reading is an interval: the true latency lies between it and the next one that the clock, or the tool that rounded
//! it, can give.

use archive::summary::RunSummary;

/// The readings of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Readings {
    /// Width of the interval in ns, at least 1.
    width_ns: i64,
    /// Readings are multiples of the width: the source rounded them. A clock rounds the instant, and the instant at which
    /// a wake-up was due is exact.
    multiples: bool,
}

impl Readings {
    pub fn of(summary: &RunSummary) -> Self {
        let width = match (&summary.imported, &summary.effective) {
            (Some(imported), _) => imported.resolution_ns,
            (None, Some(effective)) => effective.clock_width_ns(),
            (None, None) => 1,
        };
        Self { width_ns: i64::try_from(width).unwrap_or(i64::MAX).max(1), multiples: summary.imported.is_some() }
    }

    pub fn width_ns(self) -> i64 {
        self.width_ns
    }

    /// The latest that a reading may have been.
    pub fn latest_ns(self, reading_ns: i64) -> i64 {
        reading_ns.saturating_add(self.width_ns - 1)
    }

    /// The latest that a reading within `low_ns ..= high_ns` may have been.
    pub fn latest_within_ns(self, low_ns: i64, high_ns: i64) -> i64 {
        let rounded_ns = high_ns - high_ns.rem_euclid(self.width_ns);
        self.latest_ns(if self.multiples { rounded_ns.max(low_ns) } else { high_ns })
    }

    /// Whether a reading can show that a wake-up was no later than `latest_ns`.
    pub fn resolve(self, latest_ns: i64) -> bool {
        self.latest_ns(0) <= latest_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use archive::manifest::ImportedFrom;
    use archive::reader::Run;

    fn summary() -> RunSummary {
        RunSummary::of(&Run::default(), &[])
    }

    #[test]
    fn rounded_values_are_multiples_and_clock_readings_are_not() {
        let imported = ImportedFrom { resolution_ns: 1000, ..ImportedFrom::default() };
        let rounded = Readings::of(&RunSummary { imported: Some(imported), ..summary() });
        assert_eq!((rounded.latest_ns(99_000), rounded.latest_within_ns(98_990, 99_020)), (99_999, 99_999));
        let clock = Readings { multiples: false, ..rounded };
        assert_eq!((clock.latest_ns(99_000), clock.latest_within_ns(98_990, 99_020)), (99_999, 100_019));
        assert!(clock.resolve(999) && !clock.resolve(998));
    }

    #[test]
    fn without_any_statement_a_reading_is_exact_to_the_nanosecond() {
        assert_eq!(Readings::of(&summary()), Readings { width_ns: 1, multiples: false });
    }
}
