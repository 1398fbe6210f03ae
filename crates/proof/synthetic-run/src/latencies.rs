//! Latencies by value, and what a meter says of them.

use archive::histogram::{Histogram, bucket_of};
use std::collections::BTreeMap;

/// How many wake-ups had which latency.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Latencies {
    /// Wake-ups by latency in nanoseconds.
    counts: BTreeMap<i64, u64>,
}

impl Latencies {
    /// Adds `count` wake-ups with a latency of `ns` nanoseconds.
    pub fn add(&mut self, ns: i64, count: u64) {
        *self.counts.entry(ns).or_default() += count;
    }

    pub(crate) fn count(&self) -> u64 {
        self.counts.values().sum()
    }

    pub(crate) fn above(&self, limit_ns: i64) -> u64 {
        self.counts.range(limit_ns + 1..).map(|(_, count)| count).sum()
    }

    pub(crate) fn min_ns(&self) -> Option<i64> {
        self.counts.keys().next().copied()
    }

    pub(crate) fn max_ns(&self) -> Option<i64> {
        self.counts.keys().next_back().copied()
    }

    pub(crate) fn largest_first(&self) -> impl Iterator<Item = i64> {
        self.counts.iter().rev().flat_map(|(ns, count)| std::iter::repeat_n(*ns, *count as usize))
    }

    pub(crate) fn sum_ns(&self) -> i64 {
        self.counts.iter().map(|(ns, count)| ns * *count as i64).sum()
    }

    pub(crate) fn histogram(&self) -> Histogram {
        let mut buckets: BTreeMap<u32, u64> = BTreeMap::new();
        for (ns, count) in &self.counts {
            if let Some(bucket) = bucket_of(*ns) {
                *buckets.entry(bucket as u32).or_default() += count;
            }
        }
        Histogram { buckets: buckets.into_iter().collect() }
    }
}

impl Extend<i64> for Latencies {
    fn extend<I: IntoIterator<Item = i64>>(&mut self, all: I) {
        for ns in all {
            self.add(ns, 1);
        }
    }
}

impl FromIterator<i64> for Latencies {
    fn from_iter<I: IntoIterator<Item = i64>>(all: I) -> Self {
        let mut latencies = Self::default();
        latencies.extend(all);
        latencies
    }
}
