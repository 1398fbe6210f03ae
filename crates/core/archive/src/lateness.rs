//! How late every period of a thread was: its wake-ups, and the periods that they missed.
//!
//! A wake-up that is late by L misses the periods that were due meanwhile. With a fixed interval I these were late by
//! L - I, L - 2I and so on, until the same wake-up.

use crate::histogram::{Histogram, bucket_high_ns, bucket_low_ns, bucket_of};
use crate::sample::Totals;

/// Steps after which the lateness of further missed periods stays unknown: an archive may come from anybody.
const STEPS_MAX: u64 = 4_000_000;

/// How late the periods of a thread were.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PeriodLateness {
    /// Wake-ups, and the missed periods whose lateness follows from one, at most 0.1 % of that wake-up's above the true
    /// value.
    pub known: Histogram,
    /// Missed periods that no wake-up explains: before samples counted, with random intervals, or of a thread that
    /// armed its timer late.
    pub unknown: u64,
}

impl PeriodLateness {
    /// Samples alone; `unknown` of them are in no bucket.
    pub fn of_samples(samples: &Histogram, unknown: u64) -> Self {
        Self { known: samples.clone(), unknown }
    }

    /// `interval_ns`: the fixed interval between periods; `None` if there is none.
    pub fn of(wake_ups: &Histogram, totals: &Totals, interval_ns: Option<i64>) -> Self {
        let mut unknown = totals.missed_periods;
        let mut known = wake_ups.clone();
        let Some(interval_ns) = interval_ns.filter(|ns| *ns > 0 && unknown > 0) else { return Self { known, unknown } };
        let mut steps = STEPS_MAX;
        // The largest first: where more periods were due than are counted, the counted ones were the earliest.
        for (bucket, count) in wake_ups.buckets.iter().rev() {
            let wake_up_ns = bucket_high_ns(*bucket as usize).min(totals.latency_ns_max.unwrap_or(i64::MAX));
            let mut late_ns = wake_up_ns.saturating_sub(interval_ns);
            if late_ns < 0 || unknown == 0 {
                break;
            }
            while late_ns >= 0 && unknown > 0 && steps > 0 {
                let missed = unknown.min(*count);
                known.buckets.extend(bucket_of(late_ns).map(|bucket| (bucket as u32, missed)));
                unknown -= missed;
                steps -= 1;
                late_ns = late_ns.saturating_sub(interval_ns);
            }
        }
        Self { known: known.normalised(), unknown }
    }

    /// All periods, the missed ones that no wake-up explains with the least lateness they can have had: the next wake-up
    /// came when the next period was due. Where the largest known is at least that, they were as late as the largest known.
    pub fn at_least(&self, interval_ns: i64, totals: &Totals) -> Histogram {
        let least_ns = interval_ns.max(totals.latency_ns_max.unwrap_or(0));
        let mut all = self.known.clone();
        all.buckets
            .extend(bucket_of(least_ns).map(|bucket| (bucket as u32, self.unknown)).filter(|(_, count)| *count > 0));
        all.normalised()
    }

    /// Adds the periods of another thread.
    pub fn merge(&mut self, other: &Self) {
        self.known.merge(&other.known);
        self.unknown = self.unknown.saturating_add(other.unknown);
    }
}

/// How many periods that a wake-up missed were later than `limit_ns`, at least 0.
pub fn missed_later_than(limit_ns: i64, wake_up_ns: i64, interval_ns: i64) -> u64 {
    let beyond = wake_up_ns.saturating_sub(limit_ns.max(-1));
    if beyond <= 0 || interval_ns <= 0 { 0 } else { ((beyond - 1) / interval_ns) as u64 }
}

/// Missed periods later than `limit_ns`, of all wake-ups in a histogram: certainly, and at most. Periods that no wake-up
/// explains may be.
pub fn missed_of_all_later_than(
    limit_ns: i64,
    wake_ups: &Histogram,
    totals: &Totals,
    interval_ns: Option<i64>,
) -> (u64, u64) {
    let missed = totals.missed_periods;
    let Some(interval_ns) = interval_ns.filter(|ns| *ns > 0) else { return (0, missed) };
    let largest = totals.latency_ns_max.unwrap_or(i64::MAX);
    let sum = |limit_ns: i64, edge: fn(usize) -> i64| {
        wake_ups.buckets.iter().fold(0u64, |sum, (bucket, count)| {
            let of_one = missed_later_than(limit_ns, edge(*bucket as usize).min(largest), interval_ns);
            sum.saturating_add(count.saturating_mul(of_one))
        })
    };
    let unexplained = missed.saturating_sub(sum(-1, bucket_high_ns));
    // Periods due after the end of the run are not counted, although a wake-up missed them.
    let after_the_end = sum(-1, bucket_low_ns).saturating_sub(missed);
    (
        sum(limit_ns, bucket_low_ns).saturating_sub(after_the_end),
        sum(limit_ns, bucket_high_ns).saturating_add(unexplained).min(missed),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MS: i64 = 1_000_000;

    fn histogram(latencies: &[i64]) -> Histogram {
        let buckets = latencies.iter().map(|ns| (bucket_of(*ns).unwrap() as u32, 1)).collect();
        Histogram { buckets }.normalised()
    }

    fn totals(latencies: &[i64], missed_periods: u64) -> Totals {
        Totals {
            cycles: latencies.len() as u64,
            missed_periods,
            latency_ns_max: latencies.iter().copied().max(),
            ..Totals::default()
        }
    }

    #[test]
    fn missed_periods_are_late_until_the_wake_up_that_missed_them() {
        let latencies = [5_000, 3 * MS + 200_000];
        let (wake_ups, totals) = (histogram(&latencies), totals(&latencies, 3));
        let periods = PeriodLateness::of(&wake_ups, &totals, Some(MS));
        let expected = histogram(&[5_000, 200_000, MS + 200_000, 2 * MS + 200_000, 3 * MS + 200_000]);
        assert_eq!(periods, PeriodLateness { known: expected, unknown: 0 });
        let later = |limit_ns| missed_of_all_later_than(limit_ns, &wake_ups, &totals, Some(MS));
        assert_eq!((later(100_000), later(MS), later(2 * MS), later(3 * MS)), ((3, 3), (2, 2), (1, 1), (0, 0)));
    }

    #[test]
    fn periods_that_no_wake_up_explains_have_an_unknown_lateness() {
        let latencies = [5_000, MS + 200_000];
        let (wake_ups, totals) = (histogram(&latencies), totals(&latencies, 4));
        assert_eq!(PeriodLateness::of(&wake_ups, &totals, Some(MS)).unknown, 3);
        assert_eq!(missed_of_all_later_than(100_000, &wake_ups, &totals, Some(MS)), (1, 4));
        assert_eq!(missed_of_all_later_than(i64::MAX, &wake_ups, &totals, Some(MS)), (0, 3));
        assert_eq!(PeriodLateness::of(&wake_ups, &totals, None).unknown, 4);
        assert_eq!(missed_of_all_later_than(100_000, &wake_ups, &totals, None), (0, 4));
    }

    #[test]
    fn a_missed_period_that_no_wake_up_explains_was_late_by_an_interval_at_least() {
        let latencies = [5_000, 7_000];
        let (wake_ups, totals) = (histogram(&latencies), totals(&latencies, 2));
        let periods = PeriodLateness::of(&wake_ups, &totals, Some(MS));
        assert_eq!(periods.at_least(MS, &totals), histogram(&[5_000, 7_000, MS, MS]));
        assert_eq!(periods.at_least(0, &totals), histogram(&[5_000, 7_000, 7_000, 7_000]));
    }

    #[test]
    fn counted_periods_of_a_wake_up_after_the_end_are_the_earliest() {
        let latencies = [5 * MS];
        let periods = PeriodLateness::of(&histogram(&latencies), &totals(&latencies, 2), Some(MS));
        assert_eq!(periods.known, histogram(&[3 * MS, 4 * MS, 5 * MS]));
        let latencies = [MS + 50_000, MS + 50_000, 5 * MS + 200_000];
        let later =
            |limit_ns| missed_of_all_later_than(limit_ns, &histogram(&latencies), &totals(&latencies, 4), Some(MS));
        assert_eq!((later(100_000), later(3 * MS)), ((2, 4), (0, 2)));
    }

    #[test]
    fn hostile_counts_end_soon() {
        let latencies = [i64::MAX];
        let periods = PeriodLateness::of(&histogram(&latencies), &totals(&latencies, u64::MAX), Some(1));
        assert_eq!(periods.unknown, u64::MAX - STEPS_MAX);
        assert_eq!(
            missed_of_all_later_than(0, &histogram(&latencies), &totals(&latencies, u64::MAX), Some(1)).1,
            u64::MAX
        );
    }

    proptest! {
        #[test]
        fn bounds_contain_the_count_of_a_simulated_thread(
            latencies in proptest::collection::vec(0i64..20_000, 1..50),
            interval_ns in 100i64..3000,
            limit_ns in 0i64..20_000,
        ) {
            let missed: Vec<i64> = latencies.iter().flat_map(|latency| {
                (1..=latency / interval_ns).map(move |number| latency - number * interval_ns)
            }).collect();
            let (wake_ups, totals) = (histogram(&latencies), totals(&latencies, missed.len() as u64));
            let (least, most) = missed_of_all_later_than(limit_ns, &wake_ups, &totals, Some(interval_ns));
            let true_count = missed.iter().filter(|ns| **ns > limit_ns).count() as u64;
            prop_assert!(least <= true_count && true_count <= most, "{least} {true_count} {most}");
            let exact: u64 = latencies.iter().map(|ns| missed_later_than(limit_ns, *ns, interval_ns)).sum();
            prop_assert_eq!(exact, true_count);
            let periods = PeriodLateness::of(&wake_ups, &totals, Some(interval_ns));
            prop_assert_eq!(periods.known.total() + periods.unknown, (latencies.len() + missed.len()) as u64);
        }
    }
}
