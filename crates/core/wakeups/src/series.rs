//! The counters of one series of a watched thread, and the selection of samples for snapshots.

use crate::stretches::{StretchMaximum, Stretches};
use crate::worst::WorstSamples;
use archive::histogram::{Histogram, bucket_of};
use archive::sample::{Sample, Second, Totals};
use archive::spike::SpikeReason;
use archive::watched::WatchedKind;
use std::collections::BTreeMap;

const SECOND_NS: i64 = 1_000_000_000;
/// Most samples that wait for the main thread if every one is kept.
const SAMPLES_WAITING_MAX: usize = 1 << 18;

/// Where outstanding samples are captured: this many times the mean of their series, and at least this much.
const OUTSTANDING_TIMES: i64 = 10;
const OUTSTANDING_NS_MIN: i64 = 200_000;

/// Parameters of every series of a run. Instants are CLOCK_MONOTONIC, all in ns.
#[derive(Debug, Clone, Copy)]
pub struct Terms {
    pub count_from_ns: i64,
    pub end_ns: i64,
    pub limit_ns: i64,
    /// The limit of cycles, which are not latencies.
    pub cycle_limit_ns: i64,
    /// Without a limit: samples far above the mean are captured as if they were over one. Where lines of a program are
    /// counted, the late wake-up before a line is of interest although an earlier one was worse.
    pub captures_outstanding: bool,
    pub spike_threshold_ns: i64,
    /// Stretches of a long run whose maxima are captured, too.
    pub stretches: Option<Stretches>,
    pub rest_ns: i64,
    pub worst_kept: usize,
    pub every_sample: bool,
}

/// A request to capture an ordinary sample, until one was captured.
#[derive(Debug, Clone, Copy)]
pub struct ControlWish {
    pub ceiling_ns: i64,
}

/// The counters of one series.
#[derive(Debug)]
pub struct Series {
    pub thread: u32,
    pub tid: i32,
    pub kind: WatchedKind,
    terms: Terms,
    counts: BTreeMap<u32, u64>,
    totals: Totals,
    worst: WorstSamples,
    pub cpu: u32,
    pub latency_ns_last: i64,
    /// Timers of the thread that were set after they were due.
    pub late_arms: u64,
    second: Second,
    second_end_ns: i64,
    pub seconds: Vec<Second>,
    pub samples: Vec<(i64, i64)>,
    pub control: Option<ControlWish>,
    rests_until_ns: i64,
    /// Largest announced sample.
    announced_ns: i64,
    of_stretch: StretchMaximum,
}

impl Series {
    pub fn new(thread: u32, tid: i32, kind: WatchedKind, terms: Terms) -> Self {
        Self {
            thread,
            tid,
            kind,
            terms,
            counts: BTreeMap::new(),
            totals: Totals::default(),
            worst: WorstSamples::with_capacity(terms.worst_kept),
            cpu: 0,
            latency_ns_last: 0,
            late_arms: 0,
            second: Second { thread, latency_ns_max: i64::MIN, ..Second::default() },
            second_end_ns: terms.count_from_ns.saturating_add(SECOND_NS),
            seconds: Vec::new(),
            samples: Vec::new(),
            control: None,
            rests_until_ns: i64::MIN,
            announced_ns: 0,
            of_stretch: StretchMaximum::new(terms.stretches),
        }
    }

    /// Number of the next sample.
    pub fn next_cycle(&self) -> u64 {
        self.totals.cycles
    }

    /// Counts a sample. Returns why it gets a snapshot, if it does.
    pub fn count(&mut self, sample: Sample, late_arm: bool) -> Option<SpikeReason> {
        let latency_ns = sample.latency_ns;
        self.turn_second(sample.seen_ns());
        match bucket_of(latency_ns) {
            Some(bucket) => *self.counts.entry(bucket as u32).or_default() += 1,
            None => self.totals.clock_anomalies += 1,
        }
        self.cpu = sample.cpu;
        self.latency_ns_last = latency_ns;
        self.totals.cycles += 1;
        self.totals.latency_ns_sum = self.totals.latency_ns_sum.saturating_add(latency_ns);
        self.totals.latency_ns_min = Some(self.totals.latency_ns_min.map_or(latency_ns, |min| min.min(latency_ns)));
        let over_limit = match self.kind {
            WatchedKind::Cycle => latency_ns > self.terms.cycle_limit_ns,
            WatchedKind::Timer | WatchedKind::Woken => latency_ns > self.terms.limit_ns,
        };
        if over_limit {
            self.totals.over_limit += 1;
            self.second.over_limit += 1;
        }
        self.second.cycles += 1;
        self.second.latency_ns_max = self.second.latency_ns_max.max(latency_ns);
        self.worst.offer(sample);
        if self.terms.every_sample {
            if self.samples.len() < SAMPLES_WAITING_MAX {
                self.samples.push((sample.due_ns, latency_ns));
            } else {
                self.totals.records_dropped += 1;
            }
        }
        let largest = self.totals.latency_ns_max.is_none_or(|max| latency_ns > max);
        if largest {
            self.totals.latency_ns_max = Some(latency_ns);
            self.totals.worst = Some(sample);
        }
        self.late_arms += u64::from(late_arm);
        self.reason_for_snapshot(&sample, largest && self.is_news(latency_ns, late_arm), over_limit)
    }

    /// For a wake-up by a timer every new maximum counts. For cycles, and for a thread that falls increasingly behind,
    /// only one that is a tenth larger: their maxima creep up.
    fn is_news(&self, latency_ns: i64, late_arm: bool) -> bool {
        (self.kind == WatchedKind::Timer && !late_arm)
            || latency_ns > self.announced_ns.saturating_add(self.announced_ns / 10)
    }

    fn reason_for_snapshot(&mut self, sample: &Sample, largest: bool, over_limit: bool) -> Option<SpikeReason> {
        let is_news = self.of_stretch.is_news(sample.seen_ns(), sample.latency_ns);
        if (largest || is_news) && sample.latency_ns >= self.terms.spike_threshold_ns {
            self.announced_ns = self.announced_ns.max(sample.latency_ns);
            self.of_stretch.announce(sample.latency_ns);
            return Some(SpikeReason::NewMaximum);
        }
        let wanted = over_limit || (self.terms.captures_outstanding && self.is_outstanding(sample.latency_ns));
        if wanted && sample.seen_ns() >= self.rests_until_ns {
            self.rests_until_ns = sample.seen_ns().saturating_add(self.terms.rest_ns);
            return Some(SpikeReason::OverLimit);
        }
        let wished = self.control.is_some_and(|wish| sample.latency_ns <= wish.ceiling_ns);
        if wished {
            self.control = None;
        }
        wished.then_some(SpikeReason::Control)
    }

    fn is_outstanding(&self, latency_ns: i64) -> bool {
        let mean_ns = self.totals.latency_ns_sum / self.totals.cycles.max(1).cast_signed();
        latency_ns >= OUTSTANDING_NS_MIN && latency_ns / OUTSTANDING_TIMES >= mean_ns
    }

    /// A sample belongs to the second in which it was complete, because samples are complete in that order; later ones
    /// belong to the last second.
    fn turn_second(&mut self, seen_ns: i64) {
        let seen_ns = seen_ns.min(self.terms.end_ns.saturating_sub(1));
        if seen_ns < self.second_end_ns {
            return;
        }
        self.close_second();
        let behind = seen_ns.saturating_sub(self.second_end_ns) / SECOND_NS + 1;
        self.second.second = self.second.second.saturating_add(u32::try_from(behind).unwrap_or(u32::MAX));
        self.second_end_ns = self.second_end_ns.saturating_add(behind.saturating_mul(SECOND_NS));
    }

    /// Hands over the current second.
    pub fn close_second(&mut self) {
        if self.second.cycles > 0 {
            self.seconds.push(self.second);
        }
        let (thread, second) = (self.thread, self.second.second);
        self.second = Second { thread, second, latency_ns_max: i64::MIN, ..Second::default() };
    }

    pub fn totals(&self) -> Totals {
        self.totals
    }

    pub fn histogram(&self) -> Histogram {
        Histogram { buckets: self.counts.iter().map(|(bucket, count)| (*bucket, *count)).collect() }
    }

    /// The worst samples, largest first; removes them from the counters.
    pub fn take_worst(&mut self) -> Vec<Sample> {
        std::mem::replace(&mut self.worst, WorstSamples::with_capacity(0)).into_sorted()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms() -> Terms {
        Terms {
            count_from_ns: 0,
            end_ns: i64::MAX,
            limit_ns: 100,
            cycle_limit_ns: 1_000_000,
            captures_outstanding: false,
            spike_threshold_ns: 0,
            stretches: None,
            rest_ns: 1_000_000,
            worst_kept: 4,
            every_sample: true,
        }
    }

    fn sample(due_ns: i64, latency_ns: i64) -> Sample {
        Sample { cpu: 1, cycle: 0, due_ns, latency_ns }
    }

    #[test]
    fn maxima_limits_and_wishes_are_captured() {
        let mut series = Series::new(3, 77, WatchedKind::Timer, terms());
        assert_eq!(series.count(sample(0, 50), false), Some(SpikeReason::NewMaximum));
        assert_eq!(series.count(sample(1000, 40), false), None);
        assert_eq!(series.count(sample(2000, 300), false), Some(SpikeReason::NewMaximum));
        assert_eq!(series.count(sample(3000, 200), false), Some(SpikeReason::OverLimit));
        assert_eq!(series.count(sample(4000, 200), false), None, "it rests");
        series.control = Some(ControlWish { ceiling_ns: 45 });
        assert_eq!(series.count(sample(5000, 46), false), None);
        assert_eq!(series.count(sample(6000, 45), false), Some(SpikeReason::Control));
        assert_eq!(series.count(sample(7000, -5), false), None);
        let totals = series.totals();
        assert_eq!((totals.cycles, totals.over_limit, totals.clock_anomalies), (8, 3, 1));
        assert_eq!((totals.latency_ns_min, totals.latency_ns_max), (Some(-5), Some(300)));
        assert_eq!(series.histogram().total(), 7);
        assert_eq!(series.take_worst()[0].latency_ns, 300);
    }

    #[test]
    fn without_a_limit_samples_far_above_the_mean_are_captured_where_lines_are_counted() {
        let terms = Terms { limit_ns: i64::MAX, captures_outstanding: true, ..terms() };
        let mut series = Series::new(3, 77, WatchedKind::Timer, terms);
        assert_eq!(series.count(sample(0, 9_000_000), false), Some(SpikeReason::NewMaximum));
        for cycle in 1..1000 {
            assert_eq!(series.count(sample(cycle * 1_000_000, 30_000), false), None);
        }
        assert_eq!(series.count(sample(1_000_000_000, 199_999), false), None, "not ten times the mean of 39 µs");
        assert_eq!(series.count(sample(1_001_000_000, 5_000_000), false), Some(SpikeReason::OverLimit));
        assert_eq!(series.count(sample(1_002_000_000, 5_000_000), false), Some(SpikeReason::OverLimit));
        assert_eq!(series.totals().over_limit, 0);
    }

    #[test]
    fn the_maxima_of_each_stretch_are_captured_after_a_bad_first_one() {
        let terms = Terms { limit_ns: i64::MAX, stretches: Some(Stretches::of(1_000_000, 0)), ..terms() };
        let mut series = Series::new(3, 77, WatchedKind::Timer, terms);
        let mut captured = Vec::new();
        for (due_ns, latency_ns) in [(0, 90_000), (5000, 200), (1_000_000, 300), (1_001_000, 290), (2_000_000, 80)] {
            captured.extend(series.count(sample(due_ns, latency_ns), false).map(|reason| (latency_ns, reason)));
        }
        let expected = [90_000, 300, 80].map(|latency_ns| (latency_ns, SpikeReason::NewMaximum));
        assert_eq!(captured, expected);
    }

    #[test]
    fn a_cycle_has_a_limit_of_its_own() {
        let mut series = Series::new(0, 1, WatchedKind::Cycle, terms());
        series.count(sample(0, 5000), false);
        assert_eq!(series.count(sample(1, 4000), false), None);
        assert_eq!(series.count(sample(2, 5400), false), None, "it only crept");
        assert_eq!(series.count(sample(3, 5600), false), Some(SpikeReason::NewMaximum));
        assert_eq!(series.totals().over_limit, 0);
        assert_eq!(series.count(sample(4, 1_000_001), false), Some(SpikeReason::NewMaximum));
        assert_eq!(series.totals().over_limit, 1);
    }

    #[test]
    fn seconds_without_samples_are_absent() {
        let mut series = Series::new(2, 1, WatchedKind::Woken, terms());
        for due_ns in [1, 5, SECOND_NS * 3 + 1] {
            series.count(sample(due_ns, 10), false);
        }
        series.close_second();
        let seen: Vec<_> = series.seconds.iter().map(|second| (second.second, second.cycles)).collect();
        assert_eq!(seen, [(0, 2), (3, 1)]);
    }
}
