//! The causes of late wake-ups of two runs side by side.

use crate::run_name::RunName;
use archive::culprit::Culprit;
use archive::problem::Remark;
use serde::{Deserialize, Serialize};

/// How a cause changed from run A to run B.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// Absent from A, and more frequent in B than chance explains.
    Appeared,
    /// Absent from B, and less frequent than chance explains.
    Vanished,
    Grew,
    Shrank,
    /// Chance explains the difference.
    NotShown,
    /// Nothing can be counted.
    NotCounted,
}

/// A rate with its two-sided 95 % interval (Garwood 1936).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Rate {
    pub seen: f64,
    pub low: f64,
    pub high: f64,
}

/// A cause in one run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CauseInRun {
    /// Traced late wake-ups that it explains.
    pub spikes: u64,
    /// Occurrences above the floor, those within a second of each other counted once; `None` if not countable.
    pub events: Option<u64>,
    pub per_hour: Option<Rate>,
    pub per_million_wakeups: Option<Rate>,
    /// The time it adds to a wake-up, in ns; `None` for unexplained ones.
    pub stretch_ns_median: Option<i64>,
    pub stretch_ns_max: Option<i64>,
    pub latency_ns_max: Option<i64>,
    /// Number of the worst samples that it explains.
    pub among_worst: u64,
}

/// A cause in both runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CauseDifference {
    /// `None` for unexplained wake-ups.
    pub culprit: Option<Culprit>,
    pub title: String,
    pub change: Change,
    pub a: CauseInRun,
    pub b: CauseInRun,
    /// Bounds of the rate of B over that of A; `None` as the upper bound: unbounded.
    pub ratio: Option<(f64, Option<f64>)>,
    pub sentence: String,
}

impl CauseDifference {
    /// The identifier of the culprit, or the title of unexplained wake-ups.
    pub fn name(&self) -> &str {
        self.culprit.as_ref().map_or(&self.title, Culprit::id)
    }
}

/// The run and the spikes that its counts refer to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CountedRun {
    pub wakeups: u64,
    pub hours: Option<f64>,
    /// Latest wake-up without a trace, in ns: above it the cause of every wake-up is analysed.
    pub floor_ns: Option<i64>,
    /// Analysed samples among the worst, and how many of them have a trace.
    pub worst_samples: u64,
    pub worst_with_trace: u64,
}

/// Comparison of the causes of two runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CausesDifference {
    pub a: CountedRun,
    pub b: CountedRun,
    /// Causes are counted in wake-ups later than this, in ns; `None` if they cannot be counted.
    pub counted_above_ns: Option<i64>,
    /// The counted things, or the reason that nothing is counted.
    pub counted: String,
    /// Changes first, then by the latency they cause.
    pub causes: Vec<CauseDifference>,
    /// Reasons against comparing these two runs.
    pub cautions: Vec<Remark>,
    pub sentence: String,
}

/// Why the causes of a run cannot be counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Uncounted {
    NothingMeasured,
    /// The threads of another program were watched.
    Watched,
    NoTrace,
    RecordsDropped,
    WorstNotKept,
}

/// How far the causes of two runs can be counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counting {
    /// Above this latency in ns, in both runs.
    Above(i64),
    /// The same, and no wake-up is above it.
    NothingAbove(i64),
    /// Not at all, because of this run.
    Not(RunName, Uncounted),
}
