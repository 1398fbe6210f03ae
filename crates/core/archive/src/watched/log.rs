//! The log of a watched program, whose lines are counted on the watched machine.

use serde::{Deserialize, Serialize};

/// Where the program writes its lines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum LogSource {
    /// A file, also after its rotation.
    File { path: String },
    /// The entries of a unit in the journal of systemd.
    Journal { unit: String },
}
