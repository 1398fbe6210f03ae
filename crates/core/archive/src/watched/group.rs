//! A program named by the control group in which the kernel keeps its processes, so it stays the same after a restart.

use serde::{Deserialize, Serialize};

/// The control group of a program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum ProgramGroup {
    /// A unit of systemd, of the system or of any user.
    Unit { name: String },
    /// A control group and the groups below it.
    Below { path: String },
    /// A container or a pod, by its name or the first digits of its id.
    Container { name: String },
}

impl ProgramGroup {
    /// The requested program.
    pub fn whom(&self) -> String {
        match self {
            Self::Unit { name } => format!("unit {name}"),
            Self::Below { path } => format!("control group {path}"),
            Self::Container { name } => format!("container {name}"),
        }
    }
}
