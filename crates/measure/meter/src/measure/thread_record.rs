//! The counters of a measuring thread, readable by other threads while it counts.
//!
//! Every cell has one writer, the measuring thread, so an increment is a relaxed load and store: no locked instruction
//! in the loop. A reader sees each cell consistently but may see two cells from adjacent cycles.

use super::ring::Ring;
use crate::gaps::NextDue;
use crate::kernel::memory;
use archive::histogram::{BUCKETS, Histogram, bucket_of};
use archive::sample::{Sample, Second, Totals};
use archive::spike::SpikeReason;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering::Relaxed};

/// Latencies from which a page fault while counting does not matter, in ns: the histogram above is seldom touched.
const RARE_NS: i64 = 1 << 24;

/// A spike announced by the measuring thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpikeSignal {
    pub sample: Sample,
    pub reason: SpikeReason,
    /// Seen instant of the previous cycle; `None` for the first.
    pub previous_seen_ns: Option<i64>,
}

/// The counters of one measuring thread.
#[derive(Debug)]
pub struct ThreadRecord {
    buckets: Box<[AtomicU64]>,
    cycles: AtomicU64,
    missed_periods: AtomicU64,
    over_limit: AtomicU64,
    clock_anomalies: AtomicU64,
    records_dropped: AtomicU64,
    latency_ns_sum: AtomicI64,
    latency_ns_min: AtomicI64,
    latency_ns_max: AtomicI64,
    latency_ns_last: AtomicI64,
    worst_cpu: AtomicU64,
    worst_cycle: AtomicU64,
    worst_due_ns: AtomicI64,
    seconds: Ring<5>,
    spikes: Ring<6>,
    samples: Option<Ring<2>>,
    /// When the thread is to wake next.
    pub next_due: Arc<NextDue>,
    /// Set by the session: capture the next ordinary sample.
    pub control_wanted: AtomicBool,
    /// Upper limit of ordinary samples, in ns.
    pub control_ceiling_ns: AtomicI64,
    /// Before this instant, samples that are only over the limit get no snapshot.
    pub snapshotter_rests_until_ns: AtomicI64,
    /// Set by the thread that marks a spike, until its snapshot is copied: meanwhile spikes are announced but must not
    /// be marked, because a marker may swap buffers. Shared by all threads of one snapshotter.
    pub snapshotter_busy: Arc<AtomicBool>,
}

#[inline]
fn add(cell: &AtomicU64, count: u64) {
    cell.store(cell.load(Relaxed).wrapping_add(count), Relaxed);
}

impl ThreadRecord {
    /// `samples_capacity` > 0 keeps every sample, if they are read fast enough.
    pub fn new(samples_capacity: usize) -> Self {
        Self::beside(samples_capacity, Arc::default())
    }

    /// Counters of a thread that shares its snapshotter with others.
    pub fn beside(samples_capacity: usize, snapshotter_busy: Arc<AtomicBool>) -> Self {
        Self {
            buckets: (0..BUCKETS).map(|_| AtomicU64::new(0)).collect(),
            cycles: AtomicU64::new(0),
            missed_periods: AtomicU64::new(0),
            over_limit: AtomicU64::new(0),
            clock_anomalies: AtomicU64::new(0),
            records_dropped: AtomicU64::new(0),
            latency_ns_sum: AtomicI64::new(0),
            latency_ns_min: AtomicI64::new(i64::MAX),
            latency_ns_max: AtomicI64::new(i64::MIN),
            latency_ns_last: AtomicI64::new(0),
            worst_cpu: AtomicU64::new(0),
            worst_cycle: AtomicU64::new(0),
            worst_due_ns: AtomicI64::new(0),
            seconds: Ring::with_capacity(128),
            spikes: Ring::with_capacity(64),
            samples: (samples_capacity > 0).then(|| Ring::with_capacity(samples_capacity)),
            next_due: Arc::default(),
            control_wanted: AtomicBool::new(false),
            control_ceiling_ns: AtomicI64::new(i64::MAX),
            snapshotter_rests_until_ns: AtomicI64::new(i64::MIN),
            snapshotter_busy,
        }
    }

    /// Gives back the memory of the buckets of very large latencies, until one is counted.
    pub fn release_rare_buckets(&self) {
        let first = bucket_of(RARE_NS).unwrap_or(BUCKETS);
        memory::release_until_counted(&self.buckets[first..]);
    }

    /// Counts one sample; `true` if it is the largest so far. Measuring thread only.
    #[inline]
    pub fn count(&self, sample: &Sample) -> bool {
        let latency_ns = sample.latency_ns;
        match bucket_of(latency_ns) {
            Some(bucket) => add(&self.buckets[bucket], 1),
            None => add(&self.clock_anomalies, 1),
        }
        add(&self.cycles, 1);
        self.latency_ns_sum.store(self.latency_ns_sum.load(Relaxed).wrapping_add(latency_ns), Relaxed);
        self.latency_ns_last.store(latency_ns, Relaxed);
        if latency_ns < self.latency_ns_min.load(Relaxed) {
            self.latency_ns_min.store(latency_ns, Relaxed);
        }
        if let Some(samples) = &self.samples
            && !samples.push([sample.due_ns as u64, latency_ns as u64])
        {
            add(&self.records_dropped, 1);
        }
        let largest = latency_ns > self.latency_ns_max.load(Relaxed);
        if largest {
            self.latency_ns_max.store(latency_ns, Relaxed);
            self.worst_cpu.store(u64::from(sample.cpu), Relaxed);
            self.worst_cycle.store(sample.cycle, Relaxed);
            self.worst_due_ns.store(sample.due_ns, Relaxed);
        }
        largest
    }

    #[inline]
    pub fn count_missed(&self, periods: u64) {
        add(&self.missed_periods, periods);
    }

    #[inline]
    pub fn count_over_limit(&self) {
        add(&self.over_limit, 1);
    }

    /// Hands over a finished second. Measuring thread only.
    #[inline]
    pub fn publish_second(&self, second: &Second) {
        let counts = u64::from(second.over_limit) << 32 | u64::from(second.missed_periods);
        let record = [u64::from(second.second), u64::from(second.cycles), second.latency_ns_max as u64, counts, 0];
        if !self.seconds.push(record) {
            add(&self.records_dropped, 1);
        }
    }

    /// Announces a spike. Measuring thread only.
    #[inline]
    pub fn publish_spike(&self, signal: &SpikeSignal) {
        let reason = match signal.reason {
            SpikeReason::NewMaximum => 0,
            SpikeReason::OverLimit => 1,
            SpikeReason::Control => 2,
        };
        let sample = &signal.sample;
        let previous = signal.previous_seen_ns.unwrap_or(i64::MIN) as u64;
        let record =
            [u64::from(sample.cpu), sample.cycle, sample.due_ns as u64, sample.latency_ns as u64, reason, previous];
        if !self.spikes.push(record) {
            add(&self.records_dropped, 1);
        }
    }

    /// The next finished second. Draining thread only.
    pub fn take_second(&self, thread: u32) -> Option<Second> {
        let [second, cycles, latency, counts, _] = self.seconds.pop()?;
        Some(Second {
            thread,
            second: second as u32,
            cycles: cycles as u32,
            latency_ns_max: latency as i64,
            over_limit: (counts >> 32) as u32,
            missed_periods: counts as u32,
        })
    }

    /// The next announced spike. Capturing thread only.
    pub fn take_spike(&self) -> Option<SpikeSignal> {
        let [cpu, cycle, due, latency, reason, previous] = self.spikes.pop()?;
        let reason = match reason {
            0 => SpikeReason::NewMaximum,
            1 => SpikeReason::OverLimit,
            _ => SpikeReason::Control,
        };
        let previous = previous as i64;
        Some(SpikeSignal {
            sample: Sample { cpu: cpu as u32, cycle, due_ns: due as i64, latency_ns: latency as i64 },
            reason,
            previous_seen_ns: (previous != i64::MIN).then_some(previous),
        })
    }

    /// The next sample as (due, latency) in ns, if every sample is kept. Draining thread only.
    pub fn take_sample(&self) -> Option<(i64, i64)> {
        let [due, latency] = self.samples.as_ref()?.pop()?;
        Some((due as i64, latency as i64))
    }

    pub fn cycles(&self) -> u64 {
        self.cycles.load(Relaxed)
    }

    pub fn latency_ns_last(&self) -> i64 {
        self.latency_ns_last.load(Relaxed)
    }

    pub fn totals(&self) -> Totals {
        let cycles = self.cycles.load(Relaxed);
        let counted = |value: i64| (cycles > 0).then_some(value);
        let max = counted(self.latency_ns_max.load(Relaxed));
        Totals {
            cycles,
            missed_periods: self.missed_periods.load(Relaxed),
            over_limit: self.over_limit.load(Relaxed),
            clock_anomalies: self.clock_anomalies.load(Relaxed),
            latency_ns_min: counted(self.latency_ns_min.load(Relaxed)),
            latency_ns_max: max,
            latency_ns_sum: self.latency_ns_sum.load(Relaxed),
            worst: max.map(|latency_ns| Sample {
                cpu: self.worst_cpu.load(Relaxed) as u32,
                cycle: self.worst_cycle.load(Relaxed),
                due_ns: self.worst_due_ns.load(Relaxed),
                latency_ns,
            }),
            records_dropped: self.records_dropped.load(Relaxed),
        }
    }

    pub fn histogram(&self) -> Histogram {
        Histogram::from_counts(self.buckets.iter().map(|bucket| bucket.load(Relaxed)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(cycle: u64, latency_ns: i64) -> Sample {
        Sample { cpu: 1, cycle, due_ns: 1000, latency_ns }
    }

    #[test]
    fn the_books_balance() {
        let record = ThreadRecord::new(4);
        assert!(record.count(&sample(0, 50)));
        assert!(!record.count(&sample(1, 20)));
        assert!(!record.count(&sample(2, -30)));
        assert!(record.count(&sample(3, 70)));
        let totals = record.totals();
        assert_eq!((totals.cycles, totals.clock_anomalies, totals.latency_ns_sum), (4, 1, 110));
        assert_eq!((totals.latency_ns_min, totals.latency_ns_max), (Some(-30), Some(70)));
        assert_eq!(totals.worst.unwrap().cycle, 3);
        assert_eq!(record.histogram().total(), 3);
        assert_eq!(record.take_sample(), Some((1000, 50)));
    }

    #[test]
    fn records_that_nobody_drains_are_counted_as_dropped() {
        let record = ThreadRecord::new(2);
        for cycle in 0..5 {
            record.count(&sample(cycle, 1));
        }
        assert_eq!(record.totals().records_dropped, 3);
    }

    #[test]
    fn spikes_and_seconds_arrive_as_they_were_sent() {
        let record = ThreadRecord::new(0);
        let signal = SpikeSignal { sample: sample(9, -5), reason: SpikeReason::OverLimit, previous_seen_ns: Some(-1) };
        record.publish_spike(&signal);
        assert_eq!(record.take_spike(), Some(signal));
        let second = Second { thread: 3, second: 7, cycles: 9, latency_ns_max: -2, over_limit: 4, missed_periods: 5 };
        record.publish_second(&second);
        assert_eq!(record.take_second(3), Some(second));
    }
}
