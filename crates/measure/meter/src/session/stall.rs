//! Detects whether a thread still measures: one whose CPU hangs counts nothing more, and never ends by itself.

/// After this time without a wake-up a thread counts as stalled.
const STALLED_NS: i64 = 30_000_000_000;

/// The last observed progress of one thread.
#[derive(Debug, Clone, Copy)]
pub struct LastProgress {
    cycles: u64,
    since_ns: i64,
}

impl LastProgress {
    /// Nothing is counted before this instant.
    pub fn from(count_from_ns: i64) -> Self {
        Self { cycles: 0, since_ns: count_from_ns }
    }

    /// Records the current count; returns whether it has been unchanged for so long that the thread hangs.
    pub fn is_stalled(&mut self, cycles: u64, interval_ns: u64, now_ns: i64) -> bool {
        if cycles != self.cycles {
            *self = Self { cycles, since_ns: now_ns };
        }
        let interval_ns = i64::try_from(interval_ns).unwrap_or(i64::MAX);
        now_ns.saturating_sub(self.since_ns) > STALLED_NS.saturating_add(interval_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_counts_nothing_for_half_a_minute_and_an_interval_is_stalled() {
        let mut progress = LastProgress::from(1_000);
        let interval_ns = 5_000_000_000;
        assert!(!progress.is_stalled(0, interval_ns, 35_000_001_000));
        assert!(progress.is_stalled(0, interval_ns, 35_000_001_001));
        assert!(!progress.is_stalled(1, interval_ns, 36_000_000_000));
        assert!(!progress.is_stalled(1, interval_ns, 71_000_000_000));
        assert!(progress.is_stalled(1, interval_ns, 71_000_000_001));
    }

    #[test]
    fn nothing_is_stalled_before_it_counts() {
        assert!(!LastProgress::from(i64::MAX).is_stalled(0, 1_000, i64::MAX));
    }
}
