//! The largest latency of a longer time, extrapolated, and the tests that a series must pass before.

use archive::problem::Remark;
use serde::{Deserialize, Serialize};

/// A level or shape with its interval. A bound is `None` if no value beyond it was found to contradict the data.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    pub value: f64,
    pub low: Option<f64>,
    pub high: Option<f64>,
}

/// The property that a test of a gate checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GateTestName {
    Trend,
    Level,
    Records,
    Memory,
    Runs,
}

/// One test of a gate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GateTest {
    pub name: GateTestName,
    pub statistic: f64,
    pub p_value: f64,
    pub passed: bool,
}

/// The tests of a series and the blocks they were run on.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Gate {
    /// Length of a block in seconds.
    pub block_s: u32,
    pub tests: Vec<GateTest>,
}

/// The tail of one thread's latencies, extrapolated to a longer time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// Median of the horizon's maximum in ns, with its interval.
    pub median_maximum_ns: Profile,
    /// The same from the maxima of blocks.
    pub cross_check_ns: Profile,
    pub threshold_ns: f64,
    pub peaks: u32,
    /// Length of time per peak, in seconds.
    pub peak_s: u32,
    pub shape: Profile,
}

/// The result for one thread.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Extrapolation {
    pub thread: u32,
    pub cpu: u32,
    pub horizon_hours: f64,
    pub gate: Gate,
    pub estimate: Option<Estimate>,
    /// The reason that an estimate is missing.
    pub refusal: Option<Remark>,
    /// The result as a sentence.
    pub sentence: String,
}
