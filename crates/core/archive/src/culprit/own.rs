//! Facts of what the thread did itself, and the tool.

use super::{ForeignText, Holders, TaskName};
use serde::{Deserialize, Serialize};

/// A watched thread had the CPU itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OwnWork {
    pub tid: i32,
    /// It set its timer only after the wake-up was due.
    pub overran: bool,
    /// The hypervisor that may have had the CPU for a part of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<ForeignText>,
}

/// The thread had page faults.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum ThreadFaults {
    /// One, before it read the clock.
    BeforeTheClock { tid: i32 },
    InItsWork {
        thread: TaskName,
        count: usize,
        /// It slept in some of them until a device had brought the page.
        waited_for_device: bool,
        lengths: FaultLengths,
    },
}

/// How the lengths of page faults were estimated: the trace has no end of a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum FaultLengths {
    /// Faults less than this apart count as back to back.
    Apart { ns: i64 },
    /// Some lasted at least until the thread got the memory.
    Noted {
        faults: usize,
        noted: usize,
        /// Maximum time that counts after that.
        rest_ns: i64,
        longest_ns: i64,
    },
}

/// This tool disturbed its own measurement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum OwnTool {
    /// It recorded a stack trace in the timer interrupt.
    RecordedStack,
    /// Its threads had the CPU.
    Ran(Holders),
}
