//! Who occupied a CPU: the owners of the stretches in a ledger.

use serde::{Deserialize, Serialize};

/// Kind of an owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum OwnerKind {
    Nmi,
    Hardirq,
    Softirq,
    /// A SCHED_OTHER (or batch, idle) task, with its work item if it is a worker.
    Task,
    /// A task with a real-time or deadline priority.
    RtTask,
    /// The measuring thread itself.
    Own,
    /// Another thread of this tool.
    Tool,
    /// The idle task, with its state.
    Idle,
    /// No event on this CPU although it ran interruptible code.
    SilenceThisCpu,
    /// No event on any CPU: firmware or hypervisor.
    SilenceAllCpus,
    /// The hypervisor did not execute this CPU, according to its host or the guest's steal clock.
    Steal,
    /// The recorder has no data for this stretch.
    Untraced,
}

/// An owner of the CPU, and for how long.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Owner {
    pub kind: OwnerKind,
    /// Name with identifier: `hackbench-4711`, `local_timer`, `NET_RX in ksoftirqd/1-22`, `idle state 2`.
    pub name: String,
    pub ns: i64,
}
