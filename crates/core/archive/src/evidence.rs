//! The evidence of a finding: records of the trace and figures.

use crate::culprit::{KernelName, TaskName};
use crate::functions::ChainSource;
use crate::own_code::{CodeWait, SlowCode};
use crate::trace_event::TraceEvent;
use serde::{Deserialize, Serialize};

/// One piece of evidence that any culprit can have; what only one culprit has is part of its facts. Instants are relative
/// to due.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Evidence {
    Event(TraceEvent),
    /// Steal time of all CPUs since the snapshot before.
    StealTime {
        ns: u64,
    },
    /// The kernel deferred the timer interrupt because timers took so long in the one before.
    Deferral {
        /// Entry of that interrupt.
        entered_ns: i64,
        /// Time for which it executed timers.
        executed_ns: i64,
        /// Time from its end to the next.
        deferred_ns: i64,
    },
    /// A thread must have had the CPU although no switch was recorded.
    Inferred {
        thread: TaskName,
        start_ns: i64,
        end_ns: i64,
        from: InferredFrom,
    },
    /// The function in which the time was spent.
    Function(FunctionTime),
    /// The program's own function in which a late cycle spent the time that it took longer.
    SlowCode(SlowCode),
    /// The place of the program in which a late cycle slept longest.
    LongestWait(CodeWait),
    /// Interrupts or preemption were disabled in every record of a stretch.
    Masked {
        masking: Masking,
        ns: i64,
        /// From and to the records that show the opposite.
        ns_max: i64,
        first: KernelName,
        last: KernelName,
    },
    /// A part of the time passed while a lock was held.
    Lock {
        ns: i64,
        /// Function that took it ...
        taker: KernelName,
        /// ... by calling this one.
        by: KernelName,
    },
    /// The same in ordinary samples of the run.
    Ordinary {
        usual_ns: i64,
        /// Number of them in which it took about as long.
        as_long: usize,
        controls: usize,
    },
}

/// Why a stretch is assigned to a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum InferredFrom {
    /// Idle was asked to yield, and the thread was the one to choose.
    IdleGaveWay,
    /// The thread could not be preempted, and the measuring thread came next.
    PreemptionDisabled,
    /// Idle was asked to yield to the measuring thread, which is known to have had the CPU at the beginning of the stretch.
    OwnWasSeen,
}

/// The disabled part of the kernel's preemption.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Masking {
    Interrupts,
    Preemption,
}

/// The function in which time was spent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FunctionTime {
    /// Time in the first function of the chain, including the functions that it called; `None` if only a stack trace
    /// shows it.
    pub ns: Option<i64>,
    /// Innermost first; never empty. [`crate::functions::USER_SPACE`] is no function.
    pub chain: Vec<KernelName>,
    pub source: ChainSource,
    /// Nothing was recorded meanwhile: the time was spent there, or where no function is traced.
    pub last_entered: bool,
}
