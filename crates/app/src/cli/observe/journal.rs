//! `observe.json`: what a series of rounds was asked, what the coin said, what was done, and what came out of it. It is
//! written after every run, so that a series can go on after a crash with the coin it would have tossed.

use crate::cli::exit::UsageError;
use crate::cli::rounds::Rounds;
use archive::settings::RunSettings;
use archive::writer::write_atomically;
use judge::observer::{Level, ObserverEffect};
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::Path;

/// Version of the file.
pub const OBSERVE_VERSION: u32 = 1;
const FILE: &str = "observe.json";

/// A level that the target cannot be measured at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AbsentLevel {
    pub level: Level,
    pub why: String,
}

/// The whole file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Journal {
    pub observe_version: u32,
    #[serde(flatten)]
    pub rounds: Rounds,
    pub target: String,
    /// The machine was emulated: costs in ns mean nothing there.
    pub emulated: bool,
    pub command: Vec<String>,
    pub tool_version: String,
    pub started_unix_ns: i64,
    /// In 0 .. 1.
    pub confidence: f64,
    /// Settings of every run; the trace part is that of the level `events`.
    pub settings: RunSettings,
    pub levels_absent: Vec<AbsentLevel>,
    /// Whether each level was tried once before the first round.
    pub probed: bool,
    pub result: Option<ObserverEffect>,
}

impl Journal {
    /// Reads the file of a directory.
    ///
    /// # Errors
    /// A [`UsageError`] when there is none or it is not understood.
    pub fn load(directory: &Path) -> Result<Self, UsageError> {
        let path = directory.join(FILE);
        let why = |why: String| UsageError(format!("failed to go on with {}: {why}", path.display()));
        let bytes = fs::read(&path).map_err(|error| why(format!("{error}; `tardy observe` makes such a directory")))?;
        let journal: Self = serde_json::from_slice(&bytes).map_err(|error| why(error.to_string()))?;
        if journal.observe_version > OBSERVE_VERSION {
            return Err(why(format!("version {} is newer than this program", journal.observe_version)));
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
