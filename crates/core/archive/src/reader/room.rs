//! Bounds what a reader keeps of one archive in memory. What has no room is counted.

use super::worst_spikes::LeftOutSpikes;
use crate::counters::CounterSecond;
use crate::histogram::Histogram;
use crate::problem::{Problem, Severity};
use crate::sample::Sample;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Write};

const MIB: u64 = 1 << 20;
/// Bytes that an entry of a list takes beside its texts.
const ENTRY_BYTES: u64 = 128;
/// Records of seconds of a run whose settings do not say how many it has.
const SECONDS_MAX: u64 = 4_000_000;

/// A part of a run of which there may be any number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    Notices,
    Degradations,
    Invalidities,
    Losses,
    Gaps,
    Phases,
    LatencyTraces,
    Absences,
    WatchedSeries,
    KernelSeries,
    Totals,
    Seconds,
}

/// The room of one run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Room {
    count: BTreeMap<Part, u64>,
    bytes: BTreeMap<Part, u64>,
    /// Bytes of the latest state of each thread, series or spike.
    states: BTreeMap<(Part, String, u32), u64>,
    left_out: BTreeMap<Part, u64>,
    seconds_max: Option<u64>,
    pub(super) spikes: LeftOutSpikes,
    /// Bytes that the counters take in memory.
    pub(super) counters_bytes: u64,
}

impl Part {
    pub(super) fn of(problem: &Problem) -> Self {
        match problem.severity {
            Severity::Notice => Self::Notices,
            Severity::Degraded => Self::Degradations,
            Severity::Invalid => Self::Invalidities,
        }
    }

    /// Whether figures are missing without it.
    pub(super) fn has_figures(self) -> bool {
        matches!(self, Self::Totals | Self::Seconds)
    }

    fn count_max(self) -> u64 {
        match self {
            Self::Seconds => SECONDS_MAX,
            Self::Absences | Self::WatchedSeries | Self::KernelSeries | Self::Totals => 16_384,
            _ => 1000,
        }
    }

    fn bytes_max(self) -> u64 {
        match self {
            Self::Totals => 48 * MIB,
            Self::KernelSeries => 24 * MIB,
            Self::Absences => 8 * MIB,
            Self::Seconds => u64::MAX,
            _ => 2 * MIB,
        }
    }
}

impl Room {
    /// The settings of the run have this many records of seconds.
    pub(super) fn expect_seconds(&mut self, count: u64) {
        self.seconds_max = Some(count.max(SECONDS_MAX));
    }

    /// Whether one more of a list has room.
    pub(super) fn admits(&mut self, part: Part, bytes: u64) -> bool {
        let count = self.count.get(&part).copied().unwrap_or(0);
        let used = self.bytes.get(&part).copied().unwrap_or(0);
        let count_max = if part == Part::Seconds { self.seconds_max.unwrap_or(SECONDS_MAX) } else { part.count_max() };
        let admitted = count < count_max && used.saturating_add(bytes) <= part.bytes_max();
        if admitted {
            self.count.insert(part, count + 1);
            self.bytes.insert(part, used + bytes);
        } else {
            *self.left_out.entry(part).or_default() += 1;
        }
        admitted
    }

    /// Whether a state that replaces the earlier one of the same name and number has room.
    pub(super) fn admits_state(&mut self, part: Part, name: &str, number: u32, bytes: u64) -> bool {
        self.forget_state(part, name, number);
        let admitted = self.admits(part, bytes);
        if admitted {
            self.states.insert((part, name.to_owned(), number), bytes);
        }
        admitted
    }

    /// Makes the room of a state free again.
    pub(super) fn forget_state(&mut self, part: Part, name: &str, number: u32) {
        if let Some(bytes) = self.states.remove(&(part, name.to_owned(), number)) {
            self.count.entry(part).and_modify(|count| *count -= 1);
            self.bytes.entry(part).and_modify(|used| *used -= bytes);
        }
    }

    /// Records without room.
    pub(super) fn left_out(&self) -> impl Iterator<Item = (Part, u64)> {
        self.left_out.iter().map(|(part, count)| (*part, *count))
    }
}

impl fmt::Display for Part {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Notices => "notices",
            Self::Degradations => "problems that degrade the run",
            Self::Invalidities => "problems that make the run invalid",
            Self::Losses => "losses",
            Self::Gaps => "gaps",
            Self::Phases => "phases",
            Self::LatencyTraces => "latency traces",
            Self::Absences => "records of absences",
            Self::WatchedSeries => "watched series",
            Self::KernelSeries => "series of the kernel",
            Self::Totals => "totals of threads",
            Self::Seconds => "records of seconds",
        })
    }
}

/// Bytes of a value as it is stored.
pub(super) fn stored_bytes(value: &impl Serialize) -> u64 {
    let mut counted = Counted(0);
    let _ = serde_json::to_writer(&mut counted, value);
    ENTRY_BYTES + counted.0
}

pub(super) fn text_bytes(text: &str) -> u64 {
    ENTRY_BYTES + text.len() as u64
}

pub(super) fn figure_bytes(histogram: &Histogram, worst: &[Sample]) -> u64 {
    ENTRY_BYTES + size_of_val(histogram.buckets.as_slice()) as u64 + size_of_val(worst) as u64
}

pub(super) fn counter_bytes(second: &CounterSecond) -> u64 {
    ENTRY_BYTES * 2 + 16 * second.interrupts.len() as u64 + 64 * (second.softirqs.len() + second.pressure.len()) as u64
}

struct Counted(u64);

impl Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests;
