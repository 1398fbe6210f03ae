//! Facts of a CPU that is slow itself.

use super::{ForeignText, KernelName};
use serde::{Deserialize, Serialize};

/// A CPU that took long to leave an idle state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct IdleExit {
    pub cpu: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<u32>,
    /// The hypervisor to which an idle CPU returns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<ForeignText>,
    /// The record of the interrupt shows that the CPU had halted.
    pub halted: bool,
    /// The function in which it halted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub halted_in: Option<KernelName>,
}

/// The thread had the CPU and read the clock late.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum SlowReturn {
    /// On a machine whose clock counts instructions.
    InVirtualTime,
    Unknown {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        clocksource: Option<ForeignText>,
    },
}

/// Every phase took longer than usual, by these percentages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Slowdown {
    pub least_percent: i64,
    pub most_percent: i64,
}

/// The same with two threads per core.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SmtSlowdown {
    pub slowdown: Slowdown,
    /// The kernel's word for the state of SMT.
    pub smt: ForeignText,
}
