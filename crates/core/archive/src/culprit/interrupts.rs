//! Facts of interrupts and of what they defer.

use super::{Holder, Holders, KernelName};
use serde::{Deserialize, Serialize};

/// Something had the CPU; more is not known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HeldBy {
    pub who: Holders,
}

/// Interrupts other than the one that caused the wake-up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ForeignInterrupts {
    pub who: Holders,
    /// Number of the first that a device raised.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub irq: Option<i32>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SoftirqWork {
    pub who: Holders,
    /// Number of the softirq that took longest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub softirq: Option<u32>,
    pub preempt_rt: bool,
}

/// Many interrupts of one kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum InterruptStorm {
    /// A profiler samples the CPU by a timer.
    Profiler {
        cpu: u32,
        /// The function of its timer.
        timer: KernelName,
        samples: usize,
        per_second: i64,
        /// How often it changed the events of the CPU.
        changes: usize,
        /// The kernel deferred the next timer interrupt because of them.
        deferred: bool,
    },
    Line {
        who: Holder,
        entries: usize,
        per_second: i64,
        /// Number of a device's interrupt.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        irq: Option<i32>,
        /// The function that most of them execute for a timer.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        timer: Option<TimerInStorm>,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TimerInStorm {
    pub function: KernelName,
    pub times: usize,
}
