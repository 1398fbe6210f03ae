//! A log-linear histogram of latencies in ns: at most 0.1 % wide buckets, no overflow.
//!
//! Values below 1024 have one bucket each; every further power of two is divided into 1024 equal buckets, so a bucket
//! is never wider than 1/1024 of its lower bound. Exact minimum, maximum and sum are in [`crate::sample::Totals`].

use serde::{Deserialize, Serialize};

const LINEAR_BITS: u32 = 10;
const LINEAR: u64 = 1 << LINEAR_BITS;

/// Number of buckets that cover every non-negative `i64`.
pub const BUCKETS: usize = ((63 - LINEAR_BITS as usize) + 1) * LINEAR as usize;

/// Bucket of a latency. Negative values have none.
#[inline]
pub fn bucket_of(latency_ns: i64) -> Option<usize> {
    if latency_ns < 0 {
        return None;
    }
    let value = latency_ns as u64;
    if value < LINEAR {
        return Some(value as usize);
    }
    let octave = 63 - value.leading_zeros() - LINEAR_BITS;
    Some((((octave as u64 + 1) << LINEAR_BITS) + ((value >> octave) - LINEAR)) as usize)
}

/// Lowest latency of a bucket, in ns.
pub fn bucket_low_ns(bucket: usize) -> i64 {
    let bucket = bucket as u64;
    if bucket < LINEAR {
        return bucket as i64;
    }
    let octave = (bucket >> LINEAR_BITS) - 1;
    (((bucket & (LINEAR - 1)) + LINEAR) << octave) as i64
}

/// Highest latency of a bucket, in ns (inclusive).
pub fn bucket_high_ns(bucket: usize) -> i64 {
    if bucket + 1 >= BUCKETS { i64::MAX } else { bucket_low_ns(bucket + 1) - 1 }
}

/// Counts by bucket, sparse and sorted: the format on the wire and on disk.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Histogram {
    /// `(bucket, count)`, ascending, no zero counts.
    pub buckets: Vec<(u32, u64)>,
}

impl Histogram {
    /// Collects the non-zero counts of a dense table.
    pub fn from_counts(counts: impl IntoIterator<Item = u64>) -> Self {
        let buckets = counts.into_iter().enumerate().filter(|(_, n)| *n > 0).map(|(i, n)| (i as u32, n)).collect();
        Self { buckets }
    }

    /// Restores the invariants of `buckets` on external data: sorted, merged, in range.
    pub fn normalised(mut self) -> Self {
        self.buckets.retain(|(bucket, count)| (*bucket as usize) < BUCKETS && *count > 0);
        self.buckets.sort_unstable_by_key(|(bucket, _)| *bucket);
        self.buckets.dedup_by(|later, kept| {
            let same = later.0 == kept.0;
            if same {
                kept.1 = kept.1.saturating_add(later.1);
            }
            same
        });
        self
    }

    pub fn total(&self) -> u64 {
        self.buckets.iter().fold(0, |sum, (_, n)| sum.saturating_add(*n))
    }

    /// Adds the counts of another histogram.
    pub fn merge(&mut self, other: &Histogram) {
        self.buckets.extend_from_slice(&other.buckets);
        *self = std::mem::take(self).normalised();
    }

    /// The order statistic of rank `ceil(q * total)` as the upper edge of its bucket, in ns: never below the true
    /// value, at most 0.1 % above it. `q` in (0, 1]; `None` if empty. Cap it with the exact maximum if that is known.
    pub fn quantile_ns(&self, q: f64) -> Option<i64> {
        self.value_of_rank_ns(rank(q, self.total())?)
    }

    /// The `rank`-th smallest value, counted from 1, as the upper edge of its bucket in ns; `None` beyond the last.
    pub fn value_of_rank_ns(&self, rank: u64) -> Option<i64> {
        let mut seen = 0u64;
        for (bucket, count) in &self.buckets {
            seen = seen.saturating_add(*count);
            if seen >= rank {
                return Some(bucket_high_ns(*bucket as usize));
            }
        }
        None
    }
}

/// Rank of the `q` quantile among `total` values, `ceil(q * total)`; `None` if there are none or `q` is not in (0, 1].
pub fn rank(q: f64, total: u64) -> Option<u64> {
    (total > 0 && q > 0.0 && q <= 1.0).then(|| ((q * total as f64).ceil() as u64).clamp(1, total))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_last_bucket_holds_the_largest_value() {
        assert_eq!(bucket_of(i64::MAX), Some(BUCKETS - 1));
        assert_eq!(bucket_high_ns(BUCKETS - 1), i64::MAX);
        assert_eq!(bucket_of(-1), None);
    }

    #[test]
    fn quantiles_are_order_statistics() {
        let mut counts = vec![0u64; 200];
        counts[10] = 90;
        counts[100] = 9;
        counts[150] = 1;
        let histogram = Histogram::from_counts(counts);
        assert_eq!(histogram.quantile_ns(0.5), Some(10));
        assert_eq!(histogram.quantile_ns(0.90), Some(10));
        assert_eq!(histogram.quantile_ns(0.95), Some(100));
        assert_eq!(histogram.quantile_ns(0.9999), Some(150));
        assert_eq!(Histogram::default().quantile_ns(0.5), None);
    }

    proptest! {
        #[test]
        fn every_value_lies_in_its_narrow_bucket(value in 0i64..=i64::MAX) {
            let bucket = bucket_of(value).unwrap();
            let (low, high) = (bucket_low_ns(bucket), bucket_high_ns(bucket));
            prop_assert!(low <= value && value <= high);
            prop_assert!((high - low) as f64 <= low as f64 / 1024.0);
        }

        #[test]
        fn buckets_follow_each_other(bucket in 0usize..BUCKETS - 1) {
            prop_assert_eq!(bucket_high_ns(bucket) + 1, bucket_low_ns(bucket + 1));
        }
    }
}
