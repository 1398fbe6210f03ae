//! Order statistics of a distribution whose values may be kept in buckets, rounded, or lost.

use crate::histogram::rank;
use crate::lateness::PeriodLateness;
use serde::{Deserialize, Serialize};

/// Order statistics of a latency distribution, in ns. Quantiles count every period: wake-ups, and missed periods with
/// their lateness. A quantile is the upper edge of its 0.1 % wide bucket, capped by the exact maximum; with too few
/// samples it equals the maximum. `None`: it lies among values that nothing recorded.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LatencyFigures {
    pub min: Option<i64>,
    pub mean: Option<f64>,
    pub p50: Option<i64>,
    pub p90: Option<i64>,
    pub p99: Option<i64>,
    #[serde(rename = "p99.9")]
    pub p99_9: Option<i64>,
    #[serde(rename = "p99.99")]
    pub p99_99: Option<i64>,
    #[serde(rename = "p99.999")]
    pub p99_999: Option<i64>,
    #[serde(rename = "p99.9999")]
    pub p99_9999: Option<i64>,
    pub max: Option<i64>,
}

impl LatencyFigures {
    /// Unknown values may all lie above the known ones. `step_ns`: values are multiples of it. Minimum, mean and maximum
    /// are of the wake-ups.
    pub(super) fn of(
        periods: &PeriodLateness,
        step_ns: i64,
        min: Option<i64>,
        mean: Option<f64>,
        max: Option<i64>,
    ) -> Self {
        let PeriodLateness { known, unknown } = periods;
        let total = known.total().saturating_add(*unknown);
        let quantile = |q| {
            let rank = rank(q, total)?;
            let known = known.value_of_rank_ns(rank).map(|ns| ns - ns % step_ns);
            let known = known.map(|ns| max.map_or(ns, |max| ns.min(max)));
            known.or(max.filter(|_| rank == total))
        };
        Self {
            min,
            mean,
            p50: quantile(0.5),
            p90: quantile(0.9),
            p99: quantile(0.99),
            p99_9: quantile(0.999),
            p99_99: quantile(0.9999),
            p99_999: quantile(0.99999),
            p99_9999: quantile(0.999999),
            max,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::histogram::Histogram;

    #[test]
    fn quantiles_among_lost_values_are_unknown_but_the_last_one_is_the_maximum() {
        let mut counts = vec![0u64; 1000];
        counts[10] = 900;
        counts[20] = 90;
        let periods = PeriodLateness { known: Histogram::from_counts(counts), unknown: 10 };
        let figures = LatencyFigures::of(&periods, 1, Some(10), None, Some(5000));
        assert_eq!((figures.p50, figures.p90, figures.p99), (Some(10), Some(10), Some(20)));
        assert_eq!((figures.p99_9, figures.p99_99), (None, Some(5000)), "rank 999 is lost, rank 1000 is the maximum");
        let none = LatencyFigures::of(
            &PeriodLateness { unknown: 100, ..PeriodLateness::default() },
            1,
            Some(1),
            Some(2.0),
            Some(9),
        );
        assert_eq!((none.p50, none.p99, none.p99_9, none.max), (None, None, Some(9), Some(9)));
        let bucket = |ns| crate::histogram::bucket_of(ns).unwrap() as u32;
        let rounded = Histogram { buckets: vec![(bucket(5_000), 3), (bucket(6_000), 2), (bucket(2_904_000), 1)] };
        let rounded = PeriodLateness { known: rounded, unknown: 0 };
        assert_eq!(LatencyFigures::of(&rounded, 1000, None, None, Some(2_904_000)).p50, Some(5_000));
    }
}
