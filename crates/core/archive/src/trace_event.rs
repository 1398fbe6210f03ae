//! A record of a trace with its names resolved, as evidence for a finding.

use crate::culprit::{ForeignText, KernelName, KernelPriority, TaskName};
use serde::{Deserialize, Serialize};

/// Bits of `common_flags`, as in `enum trace_flag_type` of the kernel.
pub mod flag {
    pub const IRQS_OFF: u8 = 0x01;
    pub const NEED_RESCHED: u8 = 0x04;
    pub const HARDIRQ: u8 = 0x08;
    pub const SOFTIRQ: u8 = 0x10;
    pub const PREEMPT_RESCHED: u8 = 0x20;
    pub const NMI: u8 = 0x40;
}

/// The interrupt vectors of x86 with their own events, and the inter-processor interrupts of other machines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Vector {
    LocalTimer,
    Reschedule,
    CallFunction,
    CallFunctionSingle,
    IrqWork,
    ThermalApic,
    ThresholdApic,
    DeferredErrorApic,
    ErrorApic,
    SpuriousApic,
    PlatformIpi,
    /// `ipi:ipi_entry` of arm and others; its reason is only text.
    Ipi,
    /// The trace begins inside an unknown interrupt.
    Unnamed,
}

impl Vector {
    /// The kernel's name, without `_entry`.
    pub fn name(self) -> &'static str {
        match self {
            Self::LocalTimer => "local_timer",
            Self::Reschedule => "reschedule",
            Self::CallFunction => "call_function",
            Self::CallFunctionSingle => "call_function_single",
            Self::IrqWork => "irq_work",
            Self::ThermalApic => "thermal_apic",
            Self::ThresholdApic => "threshold_apic",
            Self::DeferredErrorApic => "deferred_error_apic",
            Self::ErrorApic => "error_apic",
            Self::SpuriousApic => "spurious_apic",
            Self::PlatformIpi => "x86_platform_ipi",
            Self::Ipi => "ipi",
            Self::Unnamed => "an interrupt the trace does not name",
        }
    }

    /// The vector whose events are named `NAME_entry` and `NAME_exit`.
    pub fn from_name(name: &str) -> Option<Self> {
        const NAMED: [Vector; 12] = [
            Vector::LocalTimer,
            Vector::Reschedule,
            Vector::CallFunction,
            Vector::CallFunctionSingle,
            Vector::IrqWork,
            Vector::ThermalApic,
            Vector::ThresholdApic,
            Vector::DeferredErrorApic,
            Vector::ErrorApic,
            Vector::SpuriousApic,
            Vector::PlatformIpi,
            Vector::Ipi,
        ];
        NAMED.into_iter().find(|vector| vector.name() == name)
    }
}

/// A file system with a known event for writing out a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum FileSystem {
    Ext4,
    Xfs,
    Btrfs,
    F2fs,
}

impl FileSystem {
    pub fn name(self) -> &'static str {
        match self {
            Self::Ext4 => "ext4",
            Self::Xfs => "xfs",
            Self::Btrfs => "btrfs",
            Self::F2fs => "f2fs",
        }
    }
}

/// The state in which a thread left the CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum LeftAs {
    Runnable,
    Stopped,
    /// Asleep, and no signal ends it.
    Blocked,
    Asleep,
    Gone,
}

/// One record of one CPU.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TraceEvent {
    /// Relative to due.
    pub at_ns: i64,
    pub cpu: u32,
    /// Bits of [`flag`].
    pub flags: u8,
    /// Preemption-disable depth.
    pub depth: u8,
    /// Thread that was running; 0 is idle.
    pub thread: TaskName,
    pub what: Happened,
}

/// Content of a record, with the names of its numbers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Happened {
    Switch {
        from: TaskName,
        /// Absent if the record has no priorities.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        from_priority: Option<KernelPriority>,
        left: LeftAs,
        to: TaskName,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        to_priority: Option<KernelPriority>,
    },
    Waking {
        task: TaskName,
        on_cpu: i32,
    },
    Wakeup {
        task: TaskName,
        on_cpu: i32,
    },
    Migrate {
        task: TaskName,
        from_cpu: i32,
        to_cpu: i32,
    },
    PriorityLent {
        task: TaskName,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        old_priority: Option<KernelPriority>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        new_priority: Option<KernelPriority>,
    },
    Signal {
        signal: i32,
        task: TaskName,
    },
    /// A control group was frozen, or thawed.
    Freeze {
        frozen: bool,
        group: ForeignText,
    },
    Runtime {
        task: TaskName,
        ran_ns: i64,
    },
    /// `device` is the kernel's number, 0 if unknown.
    FileSync {
        file_system: FileSystem,
        device: u32,
    },
    IrqEntry(Interrupt),
    IrqExit(Interrupt),
    VectorEntry(Vector),
    VectorExit(Vector),
    /// By the number of the softirq, as in the following ones.
    SoftirqEntry(u32),
    SoftirqExit(u32),
    SoftirqRaise(u32),
    HrtimerStart {
        function: KernelName,
        expires_ns: i64,
    },
    HrtimerCancel {
        timer: u64,
    },
    HrtimerExpireEntry {
        function: KernelName,
    },
    HrtimerExpireExit,
    TimerExpireEntry {
        function: KernelName,
    },
    TimerExpireExit,
    WorkStart {
        function: KernelName,
    },
    WorkEnd,
    CsdEntry {
        function: KernelName,
    },
    CsdExit,
    IdleEntry {
        state: u32,
    },
    IdleExit,
    Frequency {
        khz: u32,
        cpu: u32,
    },
    Nmi {
        handler: KernelName,
        took_ns: i64,
    },
    PageFault {
        user: bool,
        address: u64,
    },
    /// `movable`: for a process or a file, not for the kernel itself.
    PageAllocated {
        movable: bool,
    },
    /// The page count of a process changed. `own`: of the running process.
    MemoryCounted {
        own: bool,
    },
    Function {
        function: KernelName,
        caller: KernelName,
    },
    GraphEntry {
        function: KernelName,
        depth: i32,
    },
    GraphExit {
        function: KernelName,
        depth: i32,
    },
    /// The callers at this instant.
    Stack(ForeignText),
    /// A message of the kernel.
    Message(ForeignText),
    /// Text written to `trace_marker`.
    Marker(ForeignText),
    /// Any other event; `None` if its text is unknown.
    Other(Option<ForeignText>),
}

/// An interrupt line and what the kernel calls it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Interrupt {
    pub number: i32,
    /// Its devices; a driver or a user chooses the name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<ForeignText>,
}

/// Name of a softirq by its number.
pub fn softirq(number: u32) -> &'static str {
    const NAMES: [&str; 10] =
        ["HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU"];
    NAMES.get(number as usize).copied().unwrap_or("unknown softirq")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_named_vector_is_found_by_its_name() {
        for name in ["local_timer", "reschedule", "call_function", "x86_platform_ipi", "irq_work"] {
            assert_eq!(Vector::from_name(name).map(Vector::name), Some(name));
        }
        assert_eq!(Vector::from_name("vector_activate"), None);
    }
}
