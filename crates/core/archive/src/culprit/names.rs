//! Names that facts contain. The type says who chose a name, and so who may see it: it is not transparent to serde, so that the
//! rules of a publication see it.

use serde::{Deserialize, Serialize};

/// A symbol of the kernel, or its address where the trace has no symbol.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KernelName(pub String);

/// Text that a user, a program, a driver or a target chose.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ForeignText(pub String);

/// A priority in the kernel's scale: below 100 is real-time, below 0 a deadline, lower is more urgent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KernelPriority(pub i32);

/// A thread.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TaskName {
    /// From [`Self::NAMELESS_TIDS`] on it only distinguishes threads whose record has no thread ids.
    pub tid: i32,
    /// Empty if unknown.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub comm: String,
}

impl TaskName {
    /// Far above the thread ids of the kernel.
    pub const NAMELESS_TIDS: i32 = 1_000_000_000;
}

impl From<&str> for KernelName {
    fn from(name: &str) -> Self {
        Self(name.to_owned())
    }
}

impl From<&str> for ForeignText {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}
