//! Counters of cyclictest that the meter lacks: sums, buckets and lists in the unit of its output.
//!
//! As in the meter, every cell has one writer, the measuring thread; all memory is allocated before it starts.

use meter::measure::ring::Ring;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};

/// Capacity for samples that wait to be printed.
const STREAM_CAPACITY: usize = 16_384;

/// The counts of one thread.
#[derive(Debug, Clone, Copy, Default)]
pub struct TallyRequest {
    pub nanoseconds: bool,
    /// Buckets of the histogram; 0 for none.
    pub histogram: usize,
    /// Spikes over this are listed.
    pub spike: Option<i64>,
    pub spike_nodes: usize,
    pub stream: bool,
}

/// One sample in the unit of the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Streamed {
    pub cycle: u64,
    pub value: i64,
    pub smi: u64,
}

/// The first records of a list of any length, and its total length.
#[derive(Debug)]
struct FirstOf {
    records: Box<[[AtomicI64; 2]]>,
    count: AtomicU64,
}

impl FirstOf {
    fn new(capacity: usize) -> Self {
        Self {
            records: (0..capacity).map(|_| [AtomicI64::new(0), AtomicI64::new(0)]).collect(),
            count: AtomicU64::new(0),
        }
    }

    #[inline]
    fn push(&self, first: i64, second: i64) {
        let count = self.count.load(Relaxed);
        if let Some(record) = self.records.get(count as usize) {
            record[0].store(first, Relaxed);
            record[1].store(second, Relaxed);
        }
        self.count.store(count + 1, Relaxed);
    }

    fn read(&self) -> Vec<(i64, i64)> {
        let kept = self.records.iter().take(self.count.load(Relaxed) as usize);
        kept.map(|record| (record[0].load(Relaxed), record[1].load(Relaxed))).collect()
    }
}

/// The tally of one thread.
#[derive(Debug)]
pub struct Tally {
    nanoseconds: bool,
    spike: i64,
    sum: AtomicI64,
    buckets: Box<[AtomicU64]>,
    /// (cycle, value) of samples beyond the last bucket.
    overflows: FirstOf,
    /// (instant in µs, value) of spikes.
    spikes: FirstOf,
    stream: Option<Ring<3>>,
    dropped: AtomicU64,
    smis: AtomicU64,
}

impl Tally {
    pub fn new(request: &TallyRequest) -> Self {
        Self {
            nanoseconds: request.nanoseconds,
            spike: request.spike.unwrap_or(i64::MAX),
            sum: AtomicI64::new(0),
            buckets: (0..request.histogram).map(|_| AtomicU64::new(0)).collect(),
            overflows: FirstOf::new(request.histogram),
            spikes: FirstOf::new(if request.spike.is_some() { request.spike_nodes } else { 0 }),
            stream: request.stream.then(|| Ring::with_capacity(STREAM_CAPACITY)),
            dropped: AtomicU64::new(0),
            smis: AtomicU64::new(0),
        }
    }

    /// Counts one sample; returns it in the unit of the output. Measuring thread only.
    #[inline]
    pub fn count(&self, cycle: u64, seen_ns: i64, latency_ns: i64, smi: u64) -> i64 {
        let value = in_unit(latency_ns, self.nanoseconds);
        self.sum.store(self.sum.load(Relaxed).wrapping_add(value), Relaxed);
        if !self.buckets.is_empty() && value >= 0 {
            match self.buckets.get(value as usize) {
                Some(bucket) => bucket.store(bucket.load(Relaxed) + 1, Relaxed),
                None => self.overflows.push(cycle as i64, value),
            }
        }
        if value > self.spike {
            self.spikes.push(seen_ns / 1000, value);
        }
        if let Some(stream) = &self.stream
            && !stream.push([cycle, value as u64, smi])
        {
            self.dropped.store(self.dropped.load(Relaxed) + 1, Relaxed);
        }
        if smi > 0 {
            self.smis.store(self.smis.load(Relaxed) + smi, Relaxed);
        }
        value
    }

    /// The next sample to print. Printing thread only.
    pub fn take(&self) -> Option<Streamed> {
        let [cycle, value, smi] = self.stream.as_ref()?.pop()?;
        Some(Streamed { cycle, value: value as i64, smi })
    }

    pub fn sum(&self) -> i64 {
        self.sum.load(Relaxed)
    }

    pub fn buckets(&self) -> Vec<u64> {
        self.buckets.iter().map(|bucket| bucket.load(Relaxed)).collect()
    }

    /// Number of samples beyond the last bucket, and (cycle, value) of the first ones.
    pub fn overflows(&self) -> (u64, Vec<(i64, i64)>) {
        (self.overflows.count.load(Relaxed), self.overflows.read())
    }

    /// Number of spikes, and (instant in µs, value) of the first ones.
    pub fn spikes(&self) -> (u64, Vec<(i64, i64)>) {
        (self.spikes.count.load(Relaxed), self.spikes.read())
    }

    /// Samples that were measured but not printed, because the reader was slow.
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Relaxed)
    }

    pub fn smis(&self) -> u64 {
        self.smis.load(Relaxed)
    }
}

/// A latency in the unit of the output; microseconds are truncated, as in cyclictest.
#[inline]
pub fn in_unit(latency_ns: i64, nanoseconds: bool) -> i64 {
    if nanoseconds { latency_ns } else { latency_ns / 1000 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sample_is_in_one_place() {
        let request =
            TallyRequest { histogram: 10, spike: Some(7), spike_nodes: 1, stream: true, ..TallyRequest::default() };
        let tally = Tally::new(&request);
        for (cycle, latency_ns) in [1_999, 9_000, 10_000, 8_500, -3_000, 2_000_000].into_iter().enumerate() {
            tally.count(cycle as u64, 50_000, latency_ns, 0);
        }
        assert_eq!(tally.buckets().iter().sum::<u64>(), 3);
        assert_eq!((tally.buckets()[1], tally.buckets()[8], tally.buckets()[9]), (1, 1, 1));
        assert_eq!(tally.overflows(), (2, vec![(2, 10), (5, 2000)]));
        assert_eq!(tally.spikes(), (4, vec![(50, 9)]));
        assert_eq!(tally.sum(), 1 + 9 + 10 + 8 - 3 + 2000);
        assert_eq!(tally.take(), Some(Streamed { cycle: 0, value: 1, smi: 0 }));
        assert_eq!(std::iter::from_fn(|| tally.take()).last().unwrap().value, 2000);
    }

    #[test]
    fn samples_not_printed_in_time_are_counted() {
        let tally = Tally::new(&TallyRequest { stream: true, ..TallyRequest::default() });
        for cycle in 0..STREAM_CAPACITY as u64 + 5 {
            tally.count(cycle, 0, 0, 0);
        }
        assert_eq!(tally.dropped(), 5);
        assert_eq!(tally.take().unwrap().cycle, 0);
    }
}
