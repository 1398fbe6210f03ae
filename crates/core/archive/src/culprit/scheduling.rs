//! Facts of tasks that had the CPU instead of the thread.

use super::{ForeignText, Holders, KernelPriority, TaskName};
use serde::{Deserialize, Serialize};

/// A task of at least the priority of the thread.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MoreUrgent {
    pub who: Holders,
    /// Of the longest stretch.
    pub tid: i32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<KernelPriority>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_priority: Option<KernelPriority>,
}

/// A task to which a waiter lent its priority.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Boosted {
    pub who: Holders,
    pub tid: i32,
    /// The thread that waits for it; `None` if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lender: Option<TaskName>,
    pub lent_priority: KernelPriority,
    pub priority_by_itself: KernelPriority,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_priority: Option<KernelPriority>,
}

/// A thread that stops CPUs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StoppedCpu {
    pub who: Holders,
    /// Further CPUs that were stopped meanwhile.
    pub also_on: Vec<u32>,
}

/// An ordinary task that kept the CPU.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BlockingTask {
    pub who: Holders,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<AskedToYield>,
    pub why: WhyBlocking,
    /// The thread had the CPU when its sample began: no wake-up is part of it.
    pub without_wake_up: bool,
}

/// A demand of the kernel that a task yields.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum AskedToYield {
    Asked,
    WithPreemptionDisabled,
}

/// Why a task was not preempted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum WhyBlocking {
    /// The thread has no real-time priority.
    NoPriority { tid: i32 },
    /// The scheduler chose the task again.
    ChosenAgain,
    /// No event shows that the kernel asked it to yield.
    NotAsked,
    /// It was asked, and not even the tick came meanwhile.
    NoTick,
    /// It was asked, and no event shows that it was in the kernel.
    NotInKernel,
    /// It was in a kernel that does not preempt a task in the kernel, by its preemption model.
    KernelNotPreemptible { model: ForeignText },
    /// It was in a kernel section that cannot be preempted.
    Section { preempt_rt: bool },
}
