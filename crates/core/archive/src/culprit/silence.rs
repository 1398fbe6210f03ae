//! Facts of time in which the kernel was not executed.

use super::{ForeignText, Holder, KernelName};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Silence {
    pub place: SilentPlace,
    pub by: SilencedBy,
    /// A timer of another CPU that was overdue meanwhile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overdue: Option<OverdueTimer>,
    pub requests: Vec<SilentRequest>,
    /// Time that a CPU stood still elsewhere than in these requests.
    pub still_elsewhere_ns: i64,
    /// Where the late interrupt came in, if that shows that interrupts were enabled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub came_in: Option<CameIn>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum SilentPlace {
    AllCpus,
    /// The timer interrupt was not delivered, with interrupts enabled.
    NotDelivered,
    StoodStill {
        cpu: u32,
        within: StoodStillIn,
    },
}

/// The code in the middle of which a CPU stood still.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum StoodStillIn {
    Request(ControllerRequest),
    Switch,
    BetweenInterruptAndSoftirqs,
    Interrupt(Holder),
}

/// A request of a thread to the interrupt controller of its CPU, with interrupts masked. In a guest it exits to the hypervisor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum ControllerRequest {
    /// From the record that it sends an interrupt to another CPU to the end of the wake-up that is for: all locks are held.
    Interrupt,
    /// From the start of the timer of its sleep to the timer interrupt that arrives before it has enabled preemption again.
    Timer,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SilentRequest {
    pub request: ControllerRequest,
    pub ns: i64,
}

/// The holder of the CPU.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum SilencedBy {
    /// A hypervisor: steal time grew.
    Stolen {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        host: Option<ForeignText>,
    },
    HostOrFirmware {
        host: ForeignText,
    },
    /// On bare metal.
    FirmwareOrHardware,
    Unknown,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OverdueTimer {
    pub cpu: u32,
    pub late_ns: i64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CameIn {
    /// The kernel's record of the interrupt shows it, otherwise a stack trace.
    pub is_recorded: bool,
    pub code: UnmaskedCode,
}

/// Code that the late interrupt broke into.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum UnmaskedCode {
    UserSpace,
    /// A function that does not mask interrupts.
    Neutral(KernelName),
    /// A place in this function: the instructions before it do not enable interrupts.
    EnabledEarlier(KernelName),
    /// A function at which interrupts are masked for less than a microsecond.
    Entry(KernelName),
}
