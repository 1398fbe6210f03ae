//! The result of one thread, read once, so that all outputs agree.

use super::request::Request;
use super::tally::in_unit;
use super::thread::{Effective, Job, Pages};
use archive::histogram::Histogram;
use archive::sample::Totals;

/// The minimum that rt-tests prints before the first cycle.
pub const NO_MINIMUM: i64 = 1_000_000;

/// One measuring thread as seen by the printing thread.
#[derive(Debug)]
pub struct MeasuringThread {
    pub job: Job,
    pub effective: Effective,
    pub pages: Pages,
}

/// Figures of one thread in the unit of the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line {
    pub thread: u32,
    pub tid: i32,
    pub priority: u8,
    pub interval_us: i64,
    pub cycles: u64,
    pub min: i64,
    pub act: i64,
    pub avg: i64,
    pub max: i64,
    pub smis: Option<u64>,
}

impl Line {
    /// The current figures.
    pub fn of(member: &MeasuringThread, nanoseconds: bool) -> Self {
        let totals = member.pages.record.totals();
        let unit = |ns| in_unit(ns, nanoseconds);
        Self {
            thread: member.job.thread,
            tid: member.effective.tid,
            priority: member.job.priority,
            interval_us: member.job.interval_us,
            cycles: totals.cycles,
            min: totals.latency_ns_min.map_or(NO_MINIMUM, unit),
            act: unit(member.pages.record.latency_ns_last()),
            avg: if totals.cycles > 0 { member.pages.tally.sum() / totals.cycles as i64 } else { 0 },
            max: totals.latency_ns_max.map_or(0, unit),
            smis: member.job.smi.then(|| member.pages.tally.smis()),
        }
    }
}

/// All figures of one thread at the end.
#[derive(Debug)]
pub struct Figures {
    pub line: Line,
    pub job: Job,
    pub effective: Effective,
    pub totals: Totals,
    pub sum: i64,
    /// Exact counts, one bucket per unit.
    pub buckets: Vec<u64>,
    pub overflow_count: u64,
    /// (cycle, value) of the first overflows.
    pub overflows: Vec<(i64, i64)>,
    pub spike_count: u64,
    /// (instant in µs, value) of the first spikes.
    pub spikes: Vec<(i64, i64)>,
    pub samples_dropped: u64,
    pub histogram_ns: Histogram,
}

impl Figures {
    pub fn of(member: &MeasuringThread, request: &Request) -> Self {
        let tally = &member.pages.tally;
        let (overflow_count, overflows) = tally.overflows();
        let (spike_count, spikes) = tally.spikes();
        Self {
            line: Line::of(member, request.nanoseconds),
            job: member.job.clone(),
            effective: member.effective.clone(),
            totals: member.pages.record.totals(),
            sum: tally.sum(),
            buckets: tally.buckets(),
            overflow_count,
            overflows,
            spike_count,
            spikes,
            samples_dropped: tally.dropped(),
            histogram_ns: if request.json.is_some() { member.pages.record.histogram() } else { Histogram::default() },
        }
    }

    /// The mean with two decimals, in hundredths of the unit.
    pub fn mean_hundredths(&self) -> i64 {
        if self.line.cycles == 0 {
            return 0;
        }
        (i128::from(self.sum) * 100 / i128::from(self.line.cycles)) as i64
    }
}
