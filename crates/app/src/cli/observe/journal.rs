//! `observe.json`: what a series of rounds was asked, what the coin said, what was done, and what came out of it. It is
//! written after every run, so that a series can go on after a crash with the coin it would have tossed.

use crate::cli::exit::UsageError;
use archive::settings::RunSettings;
use archive::writer::write_atomically;
use judge::observer::{Level, ObserverEffect};
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};

/// Version of the file.
pub const OBSERVE_VERSION: u32 = 1;
const FILE: &str = "observe.json";

/// How far a series got.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JournalState {
    /// Being measured, or killed while it was.
    Running,
    Complete,
    /// Ended early; `--resume` goes on.
    Interrupted,
    /// Round after round failed; `problem` says why.
    Failed,
}

/// A level that the target cannot be measured at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AbsentLevel {
    pub level: Level,
    pub why: String,
}

/// One run of an attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LevelRun {
    pub level: Level,
    /// Directory of the archive, beside this file.
    pub archive: String,
}

/// One try at a round. A round with a failed run is void as a whole and tried again with a new coin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempt {
    /// From 1; the coin follows from it and the seed.
    pub number: u32,
    /// What the coin said.
    pub order: Vec<Level>,
    pub runs: Vec<LevelRun>,
    /// Why it does not count.
    pub void: Option<String>,
}

/// The whole file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Journal {
    pub observe_version: u32,
    pub state: JournalState,
    pub problem: Option<String>,
    pub target: String,
    /// The machine was emulated: costs in ns mean nothing there.
    pub emulated: bool,
    pub command: Vec<String>,
    pub tool_version: String,
    pub started_unix_ns: i64,
    pub seed: u64,
    pub rounds_asked: u32,
    /// In 0 .. 1.
    pub confidence: f64,
    /// Settings of every run; the trace part is that of the level `events`.
    pub settings: RunSettings,
    pub levels: Vec<Level>,
    pub levels_absent: Vec<AbsentLevel>,
    /// Whether each level was tried once before the first round.
    pub probed: bool,
    pub attempts: Vec<Attempt>,
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
        let plain = |name: &str| !name.is_empty() && !name.starts_with('.') && !name.contains('/');
        if !journal.attempts.iter().flat_map(|attempt| &attempt.runs).all(|run| plain(&run.archive)) {
            return Err(why("it names an archive outside of its directory".into()));
        }
        Ok(journal)
    }

    /// Writes the file.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn save(&self, directory: &Path) -> anyhow::Result<PathBuf> {
        let path = directory.join(FILE);
        let mut text = serde_json::to_vec_pretty(self)?;
        text.push(b'\n');
        write_atomically(&path, &text)?;
        Ok(path)
    }

    /// Attempts that count.
    pub fn complete(&self) -> impl Iterator<Item = &Attempt> {
        self.attempts.iter().filter(|attempt| attempt.void.is_none() && attempt.runs.len() == self.levels.len())
    }

    pub fn voids(&self) -> usize {
        self.attempts.iter().filter(|attempt| attempt.void.is_some()).count()
    }
}
