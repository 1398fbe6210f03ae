//! The proof of a run by its length, without any limit.

use serde::{Deserialize, Serialize};

/// The latencies between which a quantile lies, in ns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct QuantileInterval {
    pub quantile: String,
    /// `None`: the quantile may be anywhere below the upper bound.
    pub low_ns: Option<i64>,
    /// `None`: the run is too short for an upper bound.
    pub high_ns: Option<i64>,
    /// Length in seconds of the stretches that count as independent.
    #[serde(default)]
    pub stretch_s: u32,
}

/// The proof of one CPU's samples.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CpuProof {
    pub thread: u32,
    pub cpu: u32,
    pub max_ns: Option<i64>,
    pub quantiles: Vec<QuantileInterval>,
}

/// Probability that a later run of some length sets a new maximum.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct NewMaximum {
    pub next_hours: f64,
    pub probability: f64,
}

/// Hours of a test that shows something.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TestLength {
    /// The rate that it shows not to be reached (`1/h`), or the quantile whose interval gets an upper end (`p99.9`).
    pub rate: String,
    pub hours: f64,
}

/// Causes of the spikes. Spikes of one cause within minutes of each other form one occasion.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct NewCause {
    /// Occasions with an explained spike.
    pub spikes: u64,
    /// Occasions that are the only one of their cause.
    pub once: u64,
    /// Traced spikes that nothing explains; each may have a separate cause. Older documents do not count them.
    #[serde(default)]
    pub unexplained: u64,
    pub probability: f64,
    /// Upper bound at the requested confidence.
    pub high: f64,
}

/// The proof of a run by its length.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Proof {
    pub hours: f64,
    pub confidence: f64,
    pub cpus: Vec<CpuProof>,
    pub new_maximum: Vec<NewMaximum>,
    pub test_lengths: Vec<TestLength>,
    /// For the next quantiles without an upper end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub quantile_lengths: Vec<TestLength>,
    pub new_cause: Option<NewCause>,
    /// The same as sentences.
    pub sentences: Vec<String>,
}
