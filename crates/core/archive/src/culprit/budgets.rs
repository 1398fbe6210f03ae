//! Facts of budgets of CPU time, and of tasks that the scheduler preferred because of one.

use super::{ForeignText, TaskName};
use serde::{Deserialize, Serialize};

/// The control group of the thread had used up its CPU time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct QuotaUsedUp {
    /// Begin of the period that gave it time again, relative to due.
    pub next_period_ns: i64,
}

/// Real-time threads had used up their part of a period.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Throttled {
    /// The budget belongs to the control group of the thread.
    pub is_of_group: bool,
    /// The tasks that had the CPU; `None` if it was left idle.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preferred: Option<Preferred>,
    /// Time that they had.
    pub preferred_ns: i64,
    pub idle_ns: i64,
    /// The thread that used up the budget; `None` if the trace begins later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spender: Option<TaskName>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<RealTimeBudget>,
    /// A new period began, and the thread got the CPU at once.
    pub new_period: bool,
}

/// The largest of the tasks that were preferred, and the number of the others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Preferred {
    pub largest: TaskName,
    pub others: usize,
}

/// CPU time of real-time threads, by the settings of the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RealTimeBudget {
    pub runtime_us: i64,
    pub period_us: i64,
}

/// CPU time of ordinary tasks in each period in which real-time threads starve them, by the settings of one CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FairServer {
    pub cpu: u32,
    pub runtime_ns: i64,
    pub period_ns: i64,
}

impl FairServer {
    /// The kernel's default.
    pub const RUNTIME_NS: i64 = 50_000_000;
    pub const PERIOD_NS: i64 = 1_000_000_000;

    pub fn is_default(&self) -> bool {
        (self.runtime_ns, self.period_ns) == (Self::RUNTIME_NS, Self::PERIOD_NS)
    }
}

/// The scheduler gave ordinary tasks their share.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FairShare {
    pub preferred: Preferred,
    /// Real-time throttling looks the same in this trace.
    pub may_be_throttling: bool,
    /// The real-time thread that had the CPU before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spender: Option<TaskName>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rt_runtime_us: Option<i64>,
    /// Runtimes of the fair server, by CPU.
    pub server_runtimes: Vec<ForeignText>,
    /// The fair server of the CPU that the thread waited for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<FairServer>,
}
