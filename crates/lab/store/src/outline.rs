//! A histogram in few buckets, for pictures of many runs: eight for each power of two, so 12 % wide.
//!
//! Each bucket of the archive's histogram lies in one of these, so outlines of runs add up to that of all their samples.

use archive::histogram::{BUCKETS, Histogram, bucket_low_ns};
use serde::{Deserialize, Serialize};

/// Buckets for each power of two, as a power of two.
const PARTS_BITS: u32 = 3;
const PARTS: i64 = 1 << PARTS_BITS;

/// One bucket of an outline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Bar {
    /// Lowest latency in it.
    pub low_ns: i64,
    /// Highest latency in it.
    pub high_ns: i64,
    pub count: u64,
}

/// Counts by bucket, ascending, without zeros.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Outline {
    pub bars: Vec<Bar>,
}

impl Outline {
    pub fn of(histogram: &Histogram) -> Self {
        let mut bars: Vec<Bar> = Vec::new();
        for (bucket, count) in &histogram.buckets {
            let (low_ns, high_ns) = edges(bucket_low_ns(*bucket as usize));
            match bars.last_mut().filter(|last| last.low_ns == low_ns) {
                Some(last) => last.count = last.count.saturating_add(*count),
                None => bars.push(Bar { low_ns, high_ns, count: *count }),
            }
        }
        Self { bars }
    }

    /// As a histogram of the archive, with each count in the lowest bucket of its bar.
    pub(crate) fn as_histogram(&self) -> Histogram {
        let bucket = |bar: &Bar| archive::histogram::bucket_of(bar.low_ns).unwrap_or(BUCKETS - 1) as u32;
        Histogram { buckets: self.bars.iter().map(|bar| (bucket(bar), bar.count)).collect() }.normalised()
    }
}

/// Lowest and highest latency of the bar that holds a latency.
fn edges(latency_ns: i64) -> (i64, i64) {
    if latency_ns < PARTS {
        return (latency_ns, latency_ns);
    }
    let octave = 63 - latency_ns.leading_zeros() - PARTS_BITS;
    let low = (latency_ns >> octave) << octave;
    (low, low.saturating_add((1 << octave) - 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use archive::histogram::bucket_of;
    use proptest::prelude::*;

    fn of(samples: &[i64]) -> Histogram {
        Histogram { buckets: samples.iter().filter_map(|ns| Some((bucket_of(*ns)? as u32, 1))).collect() }.normalised()
    }

    proptest! {
        #[test]
        fn every_sample_lies_in_its_bar(sample in 0i64..=i64::MAX) {
            let outline = Outline::of(&of(&[sample]));
            let bar = outline.bars[0];
            prop_assert!(bar.low_ns <= sample && sample <= bar.high_ns);
            prop_assert!(bar.high_ns - bar.low_ns <= bar.low_ns / 8);
        }

        #[test]
        fn outlines_add_up(
            a in prop::collection::vec(0i64..10_000_000_000, 0..100),
            b in prop::collection::vec(0i64..10_000_000_000, 0..100),
        ) {
            let mut sum = Outline::of(&of(&a)).as_histogram();
            sum.merge(&Outline::of(&of(&b)).as_histogram());
            prop_assert_eq!(Outline::of(&sum), Outline::of(&of(&[a, b].concat())));
        }
    }
}
