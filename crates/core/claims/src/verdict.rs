//! The verdict of a run about a limit, with its evidence.

use crate::doubt::{Doubt, DoubtKind};
use crate::limit::Limit;
use archive::problem::Remark;
use serde::{Deserialize, Serialize};

/// The verdict of a run about a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Pass,
    NotEnoughData,
    /// The run cannot be judged by this limit.
    NoVerdict,
    Fail,
}

impl Verdict {
    pub fn words(self) -> &'static str {
        match self {
            Self::Pass => "PASS",
            Self::Fail => "FAIL",
            Self::NotEnoughData => "NOT ENOUGH DATA",
            Self::NoVerdict => "NO VERDICT",
        }
    }
}

/// Occasions on which wake-ups were late.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Occasions {
    pub count: u64,
    /// Late wake-ups within this time of the first of an occasion belong to it.
    pub within_s: u32,
    /// Stretches of this length do not correlate with their neighbours.
    pub independent_s: u32,
    /// Missed periods of the whole run.
    #[serde(default)]
    pub missed: u64,
    /// Whether a wake-up was certainly later than the limit.
    #[serde(default)]
    pub late: bool,
    /// Number of such wake-ups.
    #[serde(default)]
    pub late_samples: u64,
    /// The longest disturbance that FAIL assumes, in seconds, where it rests on the share of bad seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disturbance_s: Option<u32>,
}

/// The counts and bounds of one CPU.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CpuJudgement {
    pub thread: u32,
    pub cpu: u32,
    /// The kind of wake-ups and the thread, if the threads of a program were watched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub series: Option<String>,
    pub verdict: Verdict,
    /// Judged time, in hours.
    pub hours: f64,
    /// Time blocks, if a rate was judged.
    pub blocks: Option<Blocks>,
    #[serde(default)]
    pub occasions: Option<Occasions>,
    /// Wake-ups over the latency, if a quantile was judged.
    pub samples: Option<QuantileCounts>,
    /// Occasions per hour, or share of wake-ups over the latency: observed, and its bounds at the confidence.
    pub seen: f64,
    pub low: f64,
    pub high: f64,
    /// The largest sample, if it alone shows that the limit is broken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latest_ns: Option<i64>,
    /// Hours still needed for PASS without another bad event; `None` if no time suffices or none is needed.
    pub hours_needed: Option<f64>,
    /// The reason that a verdict is missing, or its limitation.
    pub because: Option<Remark>,
}

impl CpuJudgement {
    /// The subject of the figures.
    pub fn name(&self) -> String {
        self.series.clone().unwrap_or_else(|| format!("CPU {}", self.cpu))
    }

    /// A verdict without any figure.
    pub fn empty(verdict: Verdict) -> Self {
        Self {
            thread: 0,
            cpu: 0,
            series: None,
            verdict,
            hours: 0.0,
            blocks: None,
            occasions: None,
            samples: None,
            seen: 0.0,
            low: 0.0,
            high: 0.0,
            latest_ns: None,
            hours_needed: None,
            because: None,
        }
    }
}

/// Why a run gets no verdict whatever its figures are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Withheld {
    /// The run is not valid, for these reasons.
    Invalid(Vec<Remark>),
    /// A program emulated the processor, which the caller did not accept.
    Emulated,
    /// The figures would pass, but these data are missing.
    Incomplete(Vec<Remark>),
    /// The figures would pass, but the caller did not accept these doubts.
    Doubted(Vec<DoubtKind>),
}

/// The judgement of a run by one limit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Judgement {
    pub limit: Limit,
    /// In 0 .. 1.
    pub confidence: f64,
    pub verdict: Verdict,
    /// The reason for no verdict, unless a CPU's figures are it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub withheld: Option<Withheld>,
    /// The verdict and its evidence as a sentence.
    pub sentence: String,
    pub cpus: Vec<CpuJudgement>,
    /// Reasons why the machine cannot pass a real-time limit, accepted or not.
    pub doubts: Vec<Doubt>,
    /// Losses, and other cautions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cautions: Vec<Remark>,
}

/// Counts of blocks.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Blocks {
    /// Length of a block in seconds.
    pub block_s: u32,
    pub count: u64,
    pub bad: u64,
    /// Blocks without a bad second in which some second may be bad.
    pub unknown: u64,
}

/// Wake-ups over a latency and the stretches in which they were counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct QuantileCounts {
    /// Periods that were due, missed ones included.
    pub samples: u64,
    /// Missed periods that were certainly late.
    pub missed: u64,
    /// Late periods, missed ones included: certainly, and at most.
    pub over: u64,
    pub over_most: u64,
    /// Length in seconds of the stretches that count as independent, and their number.
    pub stretch_s: u32,
    pub stretches: u64,
    /// The same length for FAIL; 0 if FAIL needs no such assumption.
    pub fail_stretch_s: u32,
    /// Number of seconds, and how many of them have no record.
    pub seconds: u64,
    pub seconds_unknown: u64,
}
