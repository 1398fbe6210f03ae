//! Reduces a histogram to a drawable number of bars.

use crate::histogram::{Histogram, bucket_high_ns, bucket_low_ns};
use crate::reader::ThreadRun;
use serde::{Deserialize, Serialize};

/// Counts of one CPU between two latencies (inclusive, ns).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HistogramBar {
    pub low_ns: i64,
    pub high_ns: i64,
    pub count: u64,
}

/// Histogram of one thread.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CpuHistogram {
    pub thread: u32,
    pub cpu: u32,
    /// Ascending; empty stretches are absent.
    pub bars: Vec<HistogramBar>,
}

/// Joins neighbouring buckets until at most `bars_max` bars are left; equal steps on a logarithmic axis.
pub(super) fn cpu_histogram(thread: &ThreadRun, bars_max: usize, step_ns: i64) -> CpuHistogram {
    let mut group = 1u32;
    let bars = loop {
        let bars = grouped(&thread.histogram, group, step_ns);
        if bars.len() <= bars_max || group > 1 << 20 {
            break bars;
        }
        group *= 2;
    };
    CpuHistogram { thread: thread.thread, cpu: thread.cpu, bars }
}

fn grouped(histogram: &Histogram, group: u32, step_ns: i64) -> Vec<HistogramBar> {
    let mut bars: Vec<(u32, HistogramBar)> = Vec::new();
    for (bucket, count) in &histogram.buckets {
        let slot = bucket / group;
        let (low_ns, high_ns) = match step_ns {
            1 => (bucket_low_ns((slot * group) as usize), bucket_high_ns((slot * group + group - 1) as usize)),
            _ => rounded_from(*bucket, step_ns),
        };
        match bars.last_mut() {
            Some((last, bar)) if *last == slot => {
                (bar.count, bar.high_ns) = (bar.count.saturating_add(*count), high_ns)
            }
            _ => bars.push((slot, HistogramBar { low_ns, high_ns, count: *count })),
        }
    }
    bars.into_iter().map(|(_, bar)| bar).collect()
}

/// The latencies of a bucket whose values were rounded down to a multiple of `step_ns`.
fn rounded_from(bucket: u32, step_ns: i64) -> (i64, i64) {
    let (low, high) = (bucket_low_ns(bucket as usize), bucket_high_ns(bucket as usize));
    let value = high - high % step_ns;
    if value >= low && high - low < step_ns { (value, value.saturating_add(step_ns - 1)) } else { (low, high) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_rounded_by_a_source_are_shown_as_the_stretch_they_came_from() {
        let bucket = |ns| crate::histogram::bucket_of(ns).unwrap() as u32;
        let histogram = Histogram { buckets: vec![(bucket(5_000), 3), (bucket(6_000), 2), (bucket(2_904_000), 1)] };
        let bars = grouped(&histogram, 1, 1000);
        assert_eq!((bars[0].low_ns, bars[0].high_ns, bars[1].low_ns), (5_000, 5_999, 6_000));
        assert!(bars[2].low_ns <= 2_904_000 && bars[2].high_ns >= 2_904_000);
    }
}
