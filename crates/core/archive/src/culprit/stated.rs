//! Facts that are still sentences; gone as soon as every culprit has facts.

use serde::{Deserialize, Serialize};

/// The texts of a finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Stated {
    pub sentence: String,
    pub evidence: Vec<String>,
    pub confirm: String,
    pub fix: String,
}
