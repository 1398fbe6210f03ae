//! Facts of a timer interrupt that came late while a task ran.

use super::{ForeignText, Holders, KernelName};
use serde::{Deserialize, Serialize};

/// The task may have had interrupts masked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LateInTask {
    pub who: Holders,
    pub why: WhyLate,
    /// A sign of a masked section that does not decide.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub further_sign: Option<MaskedSection>,
    /// Its work in the section.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub woke: Option<WokenThreads>,
    /// Preemption was disabled when the interrupt arrived.
    pub locked: bool,
    /// The kernel function that the interrupt broke into.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub came_in: Option<KernelName>,
    /// The kernel recorded the late interrupt.
    pub is_recorded: bool,
    /// In a guest, the CPU recorded events in such short succession that it ran.
    pub recorded_closely: bool,
    /// The threads on the CPU were charged for all of the time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub charged: Option<FullCharge>,
    /// The hypervisor's count of stolen time, where that grew by next to nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stolen_ns: Option<i64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum WhyLate {
    /// Functions show interrupts masked.
    Functions,
    /// The clock counts instructions, so nothing else delays an interrupt.
    VirtualTime,
    Section(MaskedSection),
    /// It held a lock, on bare metal.
    Lock,
    MaskedOrFirmware,
    /// The hypervisor did not preempt the CPU.
    MaskedOrHostServed {
        host: ForeignText,
    },
    MaskedOrHostDelayed {
        host: ForeignText,
    },
    MaskedOrOutside,
}

/// The proof, without traced functions, that a thread had interrupts masked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum MaskedSection {
    /// The interrupt came in where they were enabled again.
    EnabledAgain,
    /// It woke that many threads under the lock of their wait queue.
    WokeInARow(usize),
}

/// Threads that a task woke one after another, with interrupts masked all along.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WokenThreads {
    pub count: usize,
    /// They have the name of the task, and it or one of them ended right afterwards: a process that exits sends a signal to each of
    /// its threads under one lock.
    pub ended: bool,
}

/// Instants are relative to due.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FullCharge {
    pub start_ns: i64,
    pub end_ns: i64,
    pub ran_ns: i64,
}
