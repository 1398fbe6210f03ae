//! The step of a plan that a run is: enough to know what it was for, and to judge it again, from the archive alone.

use serde::{Deserialize, Serialize};

/// One limit of a plan that holds for this run, as it was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct PlannedLimit {
    /// Like `latency < 100us`.
    pub limit: String,
    /// How often it may be broken on each CPU, like `1/h`.
    pub allow: String,
}

/// A step of a plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct PlannedStep {
    /// Name of the plan: that of its file, without the ending.
    pub plan: String,
    /// The plan's file, whole.
    pub text: String,
    /// From 1.
    pub step: u32,
    pub steps: u32,
    pub target: String,
    /// The kernel that the plan chose; `None`: the one that the target has.
    pub kernel: Option<String>,
    pub load: String,
    pub variant: Option<String>,
    /// From 1.
    pub repetition: u32,
    pub limits: Vec<PlannedLimit>,
    /// Confidence of the verdict, in percent.
    pub confidence_percent: f64,
    /// Doubts about the machine that do not keep it from passing, by their words.
    pub accept: Vec<String>,
}
