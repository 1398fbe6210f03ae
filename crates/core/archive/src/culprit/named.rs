//! Facts of culprits that are recognised by the names of threads, interrupts and functions.

use super::Holders;
use serde::{Deserialize, Serialize};

/// The holder of the CPU whose name belongs to the culprit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NamedHolders {
    pub who: Holders,
    /// A thread kept the CPU; otherwise interrupts ran first.
    pub is_thread: bool,
    /// The kernel asked it to yield while it had preemption disabled.
    pub asked_with_preemption_off: bool,
}
