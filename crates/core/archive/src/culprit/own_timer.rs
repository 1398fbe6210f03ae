//! Facts of how the thread set its own timer.

use serde::{Deserialize, Serialize};

/// The kernel delayed a timer to combine it with others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TimerSlack {
    pub tid: i32,
    pub slack_ns: i64,
}

/// The clock of the sample disagrees with the trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClockStep {
    /// Time from the start of the next timer to the end of the sample.
    pub early_ns: i64,
}
