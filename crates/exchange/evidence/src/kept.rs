//! The worst samples of each series, and a few ordinary ones for comparison.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use wakeups::followed::Counted;
use wakeups::wakeups::Finished;

/// Samples of a series that stay for a choice of ordinary ones, at even distances.
const SPREAD_MAX: usize = 64;

/// A sample that may become a spike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kept {
    pub finished: Finished,
    pub counted: Counted,
    /// When the thread was switched in, by the clock of the recording.
    pub raw_seen_ns: i64,
}

impl Kept {
    fn rank(&self) -> (i64, i64) {
        (self.counted.sample.latency_ns, -self.counted.sample.due_ns)
    }
}

impl Ord for Kept {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.rank().cmp(&other.rank())
    }
}

impl PartialOrd for Kept {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// The samples of one series.
#[derive(Debug, Default)]
pub struct KeptOfSeries {
    worst: BinaryHeap<Reverse<Kept>>,
    spread: Vec<Kept>,
    stride: u64,
}

impl KeptOfSeries {
    fn offer(&mut self, kept: Kept, worst_max: usize) {
        self.worst.push(Reverse(kept));
        if self.worst.len() > worst_max {
            self.worst.pop();
        }
        self.stride = self.stride.max(1);
        if !kept.counted.sample.cycle.is_multiple_of(self.stride) {
            return;
        }
        if self.spread.len() == SPREAD_MAX {
            self.stride = self.stride.saturating_mul(2);
            let stride = self.stride;
            self.spread.retain(|kept| kept.counted.sample.cycle.is_multiple_of(stride));
        }
        if self.spread.len() < SPREAD_MAX {
            self.spread.push(kept);
        }
    }
}

/// The samples of all series.
#[derive(Debug)]
pub struct Keeping {
    worst_max: usize,
    by_series: BTreeMap<u32, KeptOfSeries>,
}

impl Keeping {
    pub fn new(worst_max: usize) -> Self {
        Self { worst_max, by_series: BTreeMap::new() }
    }

    pub fn offer(&mut self, kept: Kept) {
        self.by_series.entry(kept.counted.thread).or_default().offer(kept, self.worst_max);
    }

    /// The worst samples of these series, largest first.
    pub fn worst(&self, wanted: impl Fn(u32) -> bool) -> Vec<Kept> {
        let of_series = self.by_series.iter().filter(|(series, _)| wanted(**series));
        let mut found: Vec<Kept> =
            of_series.flat_map(|(_, kept)| kept.worst.iter().map(|Reverse(kept)| *kept)).collect();
        found.sort_by(|one, other| other.cmp(one));
        found.truncate(self.worst_max);
        found
    }

    /// Samples of a series not above a ceiling, at even distances.
    pub fn ordinary(&self, series: u32, ceiling_ns: i64, count: usize) -> Vec<Kept> {
        let Some(kept) = self.by_series.get(&series) else { return Vec::new() };
        let below: Vec<Kept> =
            kept.spread.iter().filter(|kept| kept.counted.sample.latency_ns <= ceiling_ns).copied().collect();
        let step = (below.len() / count.max(1)).max(1);
        below.into_iter().skip(step / 2).step_by(step).take(count).collect()
    }
}
