//! The part of the other CPUs in a late sample, and their work meanwhile.

use crate::culprit::{Holder, TaskName};
use serde::{Deserialize, Serialize};

/// One fact about other CPUs between due and seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum OtherCpus {
    /// A thread of another CPU woke the thread.
    WokeThread {
        waker: TaskName,
        cpu: u32,
        /// From due until it started to wake the thread.
        after_ns: i64,
        runnable_on: u32,
        /// From there until the thread was runnable.
        runnable_after_ns: i64,
    },
    /// The largest holders of a CPU, the largest first.
    Held { cpu: u32, by: Vec<HeldFor> },
    /// Number of further CPUs that were busy, each of them less.
    LessBusy { cpus: usize },
    /// Number of CPUs that were idle all the time.
    Idle { cpus: usize },
}

/// A holder of a CPU, and for how long.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HeldFor {
    pub who: Holder,
    pub ns: i64,
}
