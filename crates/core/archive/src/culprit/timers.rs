//! Facts of the timers of a CPU.

use super::{ForeignText, Holder, KernelName};
use serde::{Deserialize, Serialize};

/// Other timers expired in the same interrupt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OtherTimers {
    /// The function that took longest; `None` if the trace names none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub function: Option<KernelName>,
    /// Number of further functions.
    pub others: usize,
    /// They took so long that the kernel deferred the next timer interrupt.
    pub deferred: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Tick {
    /// CPUs on which the kernel may stop the tick.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nohz_full: Option<ForeignText>,
    /// The hypervisor that must have had a part of a tick that is too long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<ForeignText>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum LockupWatchdog {
    /// It stopped the CPU for its check.
    Stop,
    /// Its timer ran first.
    Timer,
}

/// The thread set its timer after it was due.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LateArm {
    /// When the thread saw its previous sample, relative to due.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous_seen_ns: Option<i64>,
    /// The holder of the CPU for most of it; `None` if the trace does not show that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meanwhile: Option<Holder>,
    pub interval_ns: i64,
}

/// The interrupt that brought the wake-up was slow itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SlowTimerInterrupt {
    /// The hypervisor to which setting a timer exits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<ForeignText>,
}
