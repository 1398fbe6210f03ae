//! The step of a plan that a run belongs to: enough to know its purpose, and to judge it again, from the archive alone.

use serde::{Deserialize, Serialize};

/// One limit of a plan for this run, as written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlannedLimit {
    /// Such as `latency < 100us`.
    pub limit: String,
    /// How often it may be broken on each CPU, such as `1/h`.
    pub allow: String,
}

/// A step of a plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlannedStep {
    /// Name of the plan: its file name without the extension.
    pub plan: String,
    /// The complete text of the plan's file.
    pub text: String,
    /// From 1.
    pub step: u32,
    pub steps: u32,
    pub target: String,
    /// The kernel that the plan chose; `None` for the target's own.
    pub kernel: Option<String>,
    pub load: String,
    pub variant: Option<String>,
    /// From 1.
    pub repetition: u32,
    pub limits: Vec<PlannedLimit>,
    /// Confidence of the verdict, in percent.
    pub confidence_percent: f64,
    /// Accepted doubts about the machine, by their command-line words.
    pub accept: Vec<String>,
}
