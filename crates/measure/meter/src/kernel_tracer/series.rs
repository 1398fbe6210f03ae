//! Counts values of one kind and CPU.

use archive::histogram::{Histogram, bucket_of};
use archive::tracer::{KernelSample, KernelSeries, KernelSource};
use std::collections::BTreeMap;

/// Number of largest values to keep with their instants.
const WORST_KEPT: usize = 20;

/// Counts in progress.
pub struct Series {
    source: KernelSource,
    name: &'static str,
    cpu: u32,
    count: u64,
    sum_ns: i64,
    min_ns: Option<i64>,
    max_ns: Option<i64>,
    /// By bucket.
    counts: BTreeMap<u32, u64>,
    /// Smallest first.
    worst: Vec<KernelSample>,
    pub records_lost: u64,
}

impl Series {
    pub fn new(source: KernelSource, name: &'static str, cpu: u32) -> Self {
        Self {
            source,
            name,
            cpu,
            count: 0,
            sum_ns: 0,
            min_ns: None,
            max_ns: None,
            counts: BTreeMap::new(),
            worst: Vec::new(),
            records_lost: 0,
        }
    }

    pub fn record(&mut self, ns: i64, seen_ns: i64) {
        self.count += 1;
        self.sum_ns = self.sum_ns.saturating_add(ns);
        self.min_ns = Some(self.min_ns.map_or(ns, |min| min.min(ns)));
        self.max_ns = Some(self.max_ns.map_or(ns, |max| max.max(ns)));
        if let Some(bucket) = bucket_of(ns) {
            *self.counts.entry(bucket as u32).or_default() += 1;
        }
        if self.worst.len() < WORST_KEPT || self.worst.first().is_some_and(|least| least.ns < ns) {
            let at = self.worst.partition_point(|known| known.ns < ns);
            self.worst.insert(at, KernelSample { ns, seen_ns });
            if self.worst.len() > WORST_KEPT {
                self.worst.remove(0);
            }
        }
    }

    /// The current state.
    pub fn so_far(&self) -> KernelSeries {
        KernelSeries {
            source: self.source,
            name: self.name.to_owned(),
            cpu: self.cpu,
            count: self.count,
            sum_ns: self.sum_ns,
            min_ns: self.min_ns,
            max_ns: self.max_ns,
            histogram: Histogram { buckets: self.counts.iter().map(|(bucket, count)| (*bucket, *count)).collect() },
            worst: self.worst.iter().rev().copied().collect(),
            records_lost: self.records_lost,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_exact_and_the_worst_stay() {
        let mut series = Series::new(KernelSource::Timerlat, "timerlat irq", 1);
        for value in 0..1000 {
            series.record((value * 7919) % 1000, value);
        }
        let so_far = series.so_far();
        assert_eq!((so_far.count, so_far.sum_ns), (1000, 499_500));
        assert_eq!((so_far.min_ns, so_far.max_ns, so_far.histogram.total()), (Some(0), Some(999), 1000));
        let worst: Vec<i64> = so_far.worst.iter().map(|sample| sample.ns).collect();
        assert_eq!(worst, (980..1000).rev().collect::<Vec<_>>());
        assert_eq!((so_far.worst[0].seen_ns * 7919) % 1000, 999);
    }
}
