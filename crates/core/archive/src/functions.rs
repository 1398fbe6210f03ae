//! Functions that took the time of one spike, if a function tracer or stack traces were recorded.

use crate::owner::OwnerKind;
use serde::{Deserialize, Serialize};

/// Stands in a chain of callers for code of the program.
pub const USER_SPACE: &str = "user space";

/// Where the owners of a ledger spent their time, and how long the late CPU had interrupts or preemption disabled.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FunctionAccount {
    /// The owners that occupied the CPU longest, the longest first, without those whose functions are not in the trace.
    pub held: Vec<HeldInFunction>,
    /// The longest IRQ-off section that overlaps the wake-up, without interrupt handlers.
    pub irqs_off: Option<MaskedStretch>,
    /// The longest preemption-off section that overlaps the wake-up, without idle.
    pub preempt_off: Option<MaskedStretch>,
    /// The lock that was held longest while the wake-up was late; known only with calls and returns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lock: Option<HeldLock>,
}

/// One owner, and the function in which it spent most of its time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HeldInFunction {
    pub cpu: u32,
    pub kind: OwnerKind,
    /// The owner's name in the ledger.
    pub name: String,
    /// Time of the owner in the ledger.
    pub owner_ns: i64,
    /// The part of it in the first function of `chain`, including the functions that it called; `None` if only a stack
    /// trace shows it.
    pub ns: Option<i64>,
    /// Innermost first.
    pub chain: Vec<String>,
    pub source: ChainSource,
    /// The first function of `chain` was entered, and then nothing was recorded for most of the time: it was spent
    /// there, or in untraced functions.
    pub last_entered: bool,
}

/// How a chain of callers was recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum ChainSource {
    /// Function entries, each with its caller. Returns are not recorded, so times are only as exact as calls are
    /// frequent.
    Entries,
    /// Function entries and returns.
    Graph,
    /// One stack trace inside the time or at its edges.
    Stack,
}

/// A lock, from its acquisition to its release, or to the ends of the record. Locks have no names; the function that
/// acquires one identifies it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HeldLock {
    /// Function that acquired it ...
    pub taker: String,
    /// ... by calling this one ...
    pub by: String,
    /// ... and the function that released it; empty if it was still held at the end.
    pub releaser: String,
    /// Thread that held it.
    pub thread: String,
    /// Relative to due.
    pub start_ns: i64,
    pub end_ns: i64,
    /// The part of it between due and seen.
    pub late_ns: i64,
}

/// A stretch in which the CPU could not be interrupted, or its task not be preempted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MaskedStretch {
    pub cpu: u32,
    /// Relative to due; every record from here ...
    pub start_ns: i64,
    /// ... to here shows it ...
    pub end_ns: i64,
    /// ... and it was at most this long: from and to the records that show the opposite.
    pub ns_max: i64,
    /// Thread that ran at its start.
    pub thread: String,
    /// Function in which it started, as near as the trace shows.
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
