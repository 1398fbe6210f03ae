//! The two files of a round next to its archives: `plan.toml`, the plan at its start, and `round.json`, the overrides
//! of the command line. The results of the steps are only in their archives.

use crate::exit::UsageError;
use crate::plans::checked::{CheckedPlan, Overrides, PlanHost};
use crate::plans::machine::Packages;
use crate::terminal::json;
use archive::directory::{ArchiveDirectory, read_inside, replace_inside};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Version of `round.json`.
pub const ROUND_VERSION: u32 = 1;
const PLAN: &str = "plan.toml";
const ROUND: &str = "round.json";
/// Upper bound of the size of either file.
const BYTES_MAX: u64 = 16 << 20;

/// `round.json`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoundFile {
    pub round_version: u32,
    /// Name of the plan.
    pub plan: String,
    pub overrides: Overrides,
    pub command: Vec<String>,
    pub tool_version: String,
    pub started_unix_ns: i64,
    /// Packages of the kernels that have a Debian name.
    pub packages: Packages,
    /// The new software to deploy to boards before the measurement; may be an empty word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deploy: Option<String>,
    /// Boards that have the software.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub deployed: BTreeSet<String>,
}

/// Whether a directory holds a round.
pub fn is_round(directory: &Path) -> bool {
    ArchiveDirectory::open(directory).is_ok_and(|inside| inside.file(ROUND).is_ok())
}

impl RoundFile {
    /// Begins a round in an existing, empty directory.
    ///
    /// # Errors
    /// If a file cannot be written; the directory is removed then.
    pub fn begin(&self, directory: &Path, plan: &CheckedPlan) -> anyhow::Result<()> {
        let written = replace_inside(directory, PLAN, plan.plan.text.as_bytes());
        written.map_err(anyhow::Error::from).and_then(|()| self.save(directory)).inspect_err(|_| {
            let _ = fs::remove_file(directory.join(PLAN));
            let _ = fs::remove_dir(directory);
        })
    }

    /// Writes the file.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn save(&self, directory: &Path) -> anyhow::Result<()> {
        Ok(replace_inside(directory, ROUND, &json::indented(self)?)?)
    }

    /// Reads the round in a directory, with its plan. `host` runs its remaining steps.
    ///
    /// # Errors
    /// A [`UsageError`] if there is no round or it is not understood.
    pub fn load(directory: &Path, host: PlanHost) -> Result<(Self, CheckedPlan), UsageError> {
        let why = |path: &Path, why: String| UsageError(format!("failed to read the round {}: {why}", path.display()));
        let (round, plan) = (directory.join(ROUND), directory.join(PLAN));
        let bytes = read_inside(directory, ROUND, BYTES_MAX)
            .map_err(|error| why(&round, format!("{error}; `tardy run PLAN` makes such a directory")))?;
        let file: Self = serde_json::from_slice(&bytes).map_err(|error| why(&round, error.to_string()))?;
        if file.round_version > ROUND_VERSION {
            return Err(why(&round, format!("version {} is newer than this program", file.round_version)));
        }
        let text = read_inside(directory, PLAN, BYTES_MAX).map_err(|error| why(&plan, error.to_string()))?;
        let text = String::from_utf8(text).map_err(|error| why(&plan, error.to_string()))?;
        let checked = CheckedPlan::read(&file.plan, &text, &file.overrides, host).map_err(|found| {
            let first = found.first().map(|problem| problem.text.clone()).unwrap_or_default();
            why(&plan, first)
        })?;
        Ok((file, checked))
    }
}
