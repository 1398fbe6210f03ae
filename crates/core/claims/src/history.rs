//! Series of runs, and where they changed.

use crate::difference::Difference;
use crate::metric::Metric;
use serde::{Deserialize, Serialize};

/// A run in a series.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Point {
    pub archive: String,
    pub id: String,
    pub started_unix_ns: Option<i64>,
    pub value: f64,
}

/// A place where the level of a series changes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChangePoint {
    /// Index of the first run after it, or after the start of a drift.
    pub at: usize,
    /// Index of the first run after a drift: one ramp explains what would be several changes. `None` for a step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drift_until: Option<usize>,
    /// Level from the previous change to this one, and from this one to the next: geometric means; arithmetic means for
    /// rates.
    pub before: f64,
    pub after: f64,
    /// `None` if a level is zero.
    pub ratio: Option<f64>,
    pub p_value: f64,
    /// Other differences between the last run before and the first run after.
    pub differences: Vec<Difference>,
    pub sentence: String,
}

/// One figure of one machine and scenario over all runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Machine and scenario.
    pub scenario: String,
    pub metric: Metric,
    /// Oldest first.
    pub points: Vec<Point>,
    pub changes: Vec<ChangePoint>,
    /// Whether the runs are too few for any order to be rare enough.
    pub too_few: bool,
    /// Ratio of a change half-way that would have been found with 80 % probability; `None` if runs resemble their
    /// neighbours.
    #[serde(default)]
    pub detectable: Option<f64>,
    /// Correlation of neighbouring runs without the changes, if chance does not explain it: a warm room or a filling
    /// disk does, and looks like a change.
    #[serde(default)]
    pub autocorrelation: Option<f64>,
    /// Why no change can be found, or what was found.
    pub sentence: String,
}

/// Smaller ratios are not reported.
pub const RATIO_MIN: f64 = 1.05;
