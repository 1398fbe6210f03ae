//! Facts of what other programs did to the thread.

use super::{Holders, KernelPriority, TaskName};
use serde::{Deserialize, Serialize};

/// A signal or a debugger stopped the thread.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Stopped {
    pub by: StoppedBy,
    pub times: usize,
    /// The task that resumed it last; `None` if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resumed_by: Option<TaskName>,
    /// The longest stop, as far as the record goes.
    pub longest_ns: i64,
    /// The longest stop began before the record.
    pub began_earlier: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum StoppedBy {
    /// It sent the signal.
    Task(TaskName),
    Debugger,
    /// The sender is unknown.
    Signal,
}

/// A freezer kept the thread from running and from being woken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Frozen {
    pub sign: FreezeSign,
    pub resumed_by: TaskName,
    /// The whole sleep, as far as the record goes.
    pub slept_ns: i64,
    /// The sleep began before the record.
    pub began_earlier: bool,
}

/// The proof that a sleep was a freeze.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum FreezeSign {
    /// The task that woke the thread had just thawed a control group.
    Thawed,
    /// The timer expired and did not wake it.
    TimerWokeNobody,
    /// The timer did not expire although it was due during the sleep.
    TimerCancelled,
    /// It had not started a timer.
    NoTimer,
}

/// Another task changed the priority of the thread.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PriorityChange {
    pub tid: i32,
    /// The tasks that ran meanwhile.
    pub who: Holders,
    pub before: KernelPriority,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meanwhile: Option<KernelPriority>,
    /// `None` if the record begins later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed: Option<ChangeTime>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed_back: Option<ChangeTime>,
}

/// A priority changed between two instants, relative to due.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChangeTime {
    pub after_ns: i64,
    pub by_ns: i64,
    /// By inheritance, which has an event.
    pub is_inherited: bool,
}

/// The scheduler moved the thread to another CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Migrated {
    pub tid: i32,
    pub from_cpu: i32,
    pub to_cpu: i32,
}
