//! Facts of work that the kernel does for others: workers, consoles.

use super::{Holders, NamedHolders};
use serde::{Deserialize, Serialize};

/// A worker of the kernel's work queues.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Worker {
    pub named: NamedHolders,
    /// It runs on this CPU alone, whatever the mask of work queues.
    pub is_bound: bool,
    pub is_function_known: bool,
}

/// The kernel wrote to a console.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Console {
    /// In a printing thread, or in a function that the trace names.
    Named(NamedHolders),
    /// Where it logged the message, with preemption disabled until the interrupt that ended it.
    AtOnce { who: Holders, delayed_timer: bool },
}
