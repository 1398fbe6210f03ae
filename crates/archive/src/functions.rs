//! What the functions in a trace show about one spike, where a function tracer or stack traces were recorded.

use crate::explanation::OwnerKind;
use serde::{Deserialize, Serialize};

/// Where the owners of a ledger spent their time, and for how long the late CPU could not be interrupted or preempted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct FunctionAccount {
    /// The owners that held the CPU longest, the longest first; those whose functions are not in the trace are absent.
    pub held: Vec<HeldInFunction>,
    /// The longest stretch with interrupts off that overlaps the wake-up, interrupt handlers left out.
    pub irqs_off: Option<MaskedStretch>,
    /// The longest stretch with preemption off that overlaps the wake-up, idle left out.
    pub preempt_off: Option<MaskedStretch>,
    /// The lock that was held longest while the wake-up was late; known where calls and returns were recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lock: Option<HeldLock>,
}

/// One owner, and the function in which it spent most of its time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct HeldInFunction {
    pub cpu: u32,
    pub kind: OwnerKind,
    /// As the owner is called in the ledger.
    pub name: String,
    /// Time of the owner in the ledger.
    pub owner_ns: i64,
    /// The part of it in the first function of `chain`, the functions that it called included; `None` when only a stack
    /// trace tells of it.
    pub ns: Option<i64>,
    /// Innermost first.
    pub chain: Vec<String>,
    pub source: ChainSource,
    /// The first function of `chain` was entered, and then nothing was recorded for most of the time: it was spent
    /// there, or where no function is traced.
    pub last_entered: bool,
}

/// How a chain of callers is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub enum ChainSource {
    /// Function entries, each with its caller; returns are not recorded, so times are as exact as calls are frequent.
    Entries,
    /// Function entries and returns.
    Graph,
    /// One stack trace inside the time or at its edges.
    Stack,
}

/// A lock, from its taking to its release, or to the ends of the record. Locks have no names; who takes one tells which.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct HeldLock {
    /// Function that took it ...
    pub taker: String,
    /// ... by calling this one ...
    pub by: String,
    /// ... and the function that gave it back; empty when it was still held at the end.
    pub releaser: String,
    /// Thread that held it.
    pub thread: String,
    /// Relative to due.
    pub start_ns: i64,
    pub end_ns: i64,
    /// The part of it between due and seen.
    pub late_ns: i64,
}

/// A stretch in which the CPU could not be interrupted, or the task on it not be preempted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct MaskedStretch {
    pub cpu: u32,
    /// Relative to due; every record from here ...
    pub start_ns: i64,
    /// ... to here shows it ...
    pub end_ns: i64,
    /// ... and it was at most this long: from and to the records that show the opposite.
    pub ns_max: i64,
    /// Thread that ran at its beginning.
    pub thread: String,
    /// Function in which it began, as near as the trace shows.
    pub first: String,
    /// Function in which it ended.
    pub last: String,
}

impl MaskedStretch {
    /// The length that records show.
    pub fn ns(&self) -> i64 {
        self.end_ns.saturating_sub(self.start_ns)
    }
}
