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

/// Why a holder of the CPU is charged for time in which it did not run its own code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standstill {
    /// The CPU could have been interrupted and was not.
    NotInterrupted,
    /// The CPU recorded nothing in the middle of code that never takes this long.
    InCode,
    /// The hypervisor did not execute the CPU.
    NotExecuted,
    /// The tool recorded a stack trace.
    StackRecorded,
    /// No CPU recorded anything.
    AllCpus,
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
