//! `experiment.json`: the two variants, what the coin said, what was done, and what came out of it. It is written after
//! every run, so that a series can go on after a crash with the coin it would have tossed.

use super::variant::Variant;
use crate::cli::exit::UsageError;
use crate::cli::rounds::Rounds;
use archive::writer::write_atomically;
use judge::experiment::{ExperimentResult, Metric};
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::Path;

/// Version of the file.
pub const EXPERIMENT_VERSION: u32 = 1;
const FILE: &str = "experiment.json";

/// The whole file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Journal {
    pub experiment_version: u32,
    #[serde(flatten)]
    pub rounds: Rounds,
    pub a: Variant,
    pub b: Variant,
    /// A machine was emulated: its latencies mean nothing.
    pub emulated: bool,
    pub command: Vec<String>,
    pub tool_version: String,
    pub started_unix_ns: i64,
    /// In 0 .. 1.
    pub confidence: f64,
    pub until_decided: bool,
    /// Fixed before the first round; the first one is primary.
    pub metrics: Vec<Metric>,
    pub result: Option<ExperimentResult>,
}

impl Journal {
    /// Reads the file of a directory.
    ///
    /// # Errors
    /// A [`UsageError`] when there is none or it is not understood.
    pub fn load(directory: &Path) -> Result<Self, UsageError> {
        let path = directory.join(FILE);
        let why = |why: String| UsageError(format!("failed to go on with {}: {why}", path.display()));
        let bytes =
            fs::read(&path).map_err(|error| why(format!("{error}; `tardy experiment` makes such a directory")))?;
        let journal: Self = serde_json::from_slice(&bytes).map_err(|error| why(error.to_string()))?;
        if journal.experiment_version > EXPERIMENT_VERSION {
            return Err(why(format!("version {} is newer than this program", journal.experiment_version)));
        }
        if !journal.rounds.names_only_its_own() {
            return Err(why("it names an archive outside of its directory".into()));
        }
        Ok(journal)
    }

    /// Writes the file.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn save(&self, directory: &Path) -> anyhow::Result<()> {
        let mut text = serde_json::to_vec_pretty(self)?;
        text.push(b'\n');
        write_atomically(&directory.join(FILE), &text)?;
        Ok(())
    }
}
