//! `manifest.json`: what a run archive is, readable without any tool.

use crate::settings::RunSettings;
use serde::{Deserialize, Serialize};

/// How far the run got, as the host knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub enum RunState {
    /// Being written, or the writer was killed.
    Running,
    /// Ended as asked.
    Complete,
    /// Ended early by a person or a signal; what is there is sound.
    Interrupted,
    /// Something broke; `problem` says what.
    Failed,
}

/// The first file written and the last one rewritten.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Manifest {
    pub archive_version: u32,
    pub id: String,
    pub tool_version: String,
    /// The command line, as typed.
    pub command: Vec<String>,
    pub target: String,
    /// Wall clock of the host in ns since 1970.
    pub started_unix_ns: i64,
    pub ended_unix_ns: Option<i64>,
    pub state: RunState,
    pub problem: Option<String>,
    pub settings: RunSettings,
}
