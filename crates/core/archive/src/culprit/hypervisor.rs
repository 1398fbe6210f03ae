//! Facts of a hypervisor that did not run a CPU.

use super::{ForeignText, Holders, TaskName};
use serde::{Deserialize, Serialize};

/// How it is known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Stolen {
    /// The host, the steal clock or the emulator shows it.
    Observed {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        host: Option<ForeignText>,
        longest: CpuAbsence,
        /// Longest first.
        others: Vec<CpuAbsence>,
    },
    /// The task on this CPU waited with interrupts masked for another CPU, which did not run.
    OnAnotherCpu {
        host: ForeignText,
        who: Holders,
        absence: CpuAbsence,
    },
    /// The machine lost as much, at an unknown instant since the snapshot before.
    Counted {
        host: ForeignText,
        who: Holders,
        counted_ns: i64,
    },
    /// The interrupt was late while the task was in user space.
    InUserSpace {
        host: ForeignText,
        who: Holders,
    },
    InIdle {
        host: ForeignText,
    },
    /// The kernel may have masked interrupts as well.
    LeavingIdle {
        host: ForeignText,
        cpu: u32,
    },
}

/// A CPU did not run. Instants are relative to due.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CpuAbsence {
    pub cpu: u32,
    pub start_ns: i64,
    pub end_ns: i64,
    pub shown_by: AbsenceSign,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum AbsenceSign {
    /// The host saw that the emulator was stopped.
    EmulatorStopped(ObservedSpan),
    /// The host saw that other tasks had its CPUs.
    Preempted(ObservedSpan),
    /// The kernel charged a thread less than passed.
    StealClock { thread: TaskName, start_ns: i64, end_ns: i64, ran_ns: i64 },
    /// The steal clock left out all that it could since another CPU last read the clock of this one.
    StealClockOfOthers { missing_ns: i64 },
    /// The hypervisor's count of stolen time grew.
    StealCount { start_ns: i64, end_ns: i64, stolen_ns: i64 },
    /// The emulator runs one CPU at a time, and another one recorded events.
    OtherCpuExecuted { of: u32, events: usize },
}

/// The host's observation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ObservedSpan {
    pub start_ns: i64,
    pub end_ns: i64,
    /// Maximum error of both instants.
    pub slack_ns: i64,
}
