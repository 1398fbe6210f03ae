//! `bisect.json`: what is searched, and the result of every step. It is written after every step, so that the same
//! command continues an interrupted search.

use crate::exit::UsageError;
use crate::terminal::json;
use archive::directory::{read_inside, replace_inside};
use archive::settings::RunSettings;
use judge::bisect::StepVerdict;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::Path;

/// Version of the file.
pub const BISECT_VERSION: u32 = 1;
const FILE: &str = "bisect.json";
/// Upper bound of the file's size.
const BYTES_MAX: u64 = 64 << 20;

/// Settings that must be unchanged for a search to continue.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// From the good end.
    pub candidates: Vec<String>,
    pub before: Option<String>,
    /// As they were parsed.
    pub limits: Vec<String>,
    /// Settings of the good end, which contain those that all share.
    pub settings: RunSettings,
    pub seeds: u32,
    pub rounds: u32,
    /// Of all steps together, in 0 .. 1; steps in virtual time are exact.
    pub confidence: f64,
}

/// A finished step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DoneStep {
    /// Place in the list, from 0.
    pub candidate: usize,
    pub verdict: StepVerdict,
    pub sentence: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worse_at_least: Option<f64>,
    /// Directory of its archives, next to the file.
    pub archives: String,
}

/// The whole file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Journal {
    pub bisect_version: u32,
    /// Whether the clock of the steps counted executed instructions.
    pub virtual_time: bool,
    pub plan: Plan,
    pub steps: Vec<DoneStep>,
    /// The first bad candidate.
    pub first_bad: Option<String>,
    /// Candidates that include the first bad one, if those that decide it cannot be tested.
    #[serde(default)]
    pub suspects: Vec<String>,
}

impl Journal {
    /// Continues the search in a directory, or begins one there.
    ///
    /// # Errors
    /// A [`UsageError`] if the directory holds another search, or something else.
    pub fn open(directory: &Path, plan: Plan, virtual_time: bool) -> Result<Self, UsageError> {
        let why = |why: String| UsageError(format!("failed to search in {}: {why}", directory.display()));
        let fresh = Self {
            bisect_version: BISECT_VERSION,
            virtual_time,
            plan: plan.clone(),
            steps: Vec::new(),
            first_bad: None,
            suspects: Vec::new(),
        };
        let Ok(bytes) = read_inside(directory, FILE, BYTES_MAX) else {
            let empty = fs::read_dir(directory).map_or(true, |mut entries| entries.next().is_none());
            return if empty { Ok(fresh) } else { Err(why("it is not empty; choose another --out".into())) };
        };
        let journal: Self = serde_json::from_slice(&bytes).map_err(|error| why(format!("{FILE}: {error}")))?;
        if journal.bisect_version > BISECT_VERSION {
            return Err(why(format!("{FILE} is of version {}, newer than this program", journal.bisect_version)));
        }
        if journal.plan != plan {
            return Err(why("there is another search; type the same command, or choose another --out".into()));
        }
        if journal.steps.iter().any(|step| step.candidate >= plan.candidates.len()) {
            return Err(why(format!("{FILE} names a candidate that is not in the list")));
        }
        Ok(journal)
    }

    /// One verdict for each tested candidate.
    pub fn verdicts(&self) -> Vec<Option<StepVerdict>> {
        let mut verdicts = vec![None; self.plan.candidates.len()];
        for step in &self.steps {
            verdicts[step.candidate] = Some(step.verdict);
        }
        verdicts
    }

    /// Writes the file.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn save(&self, directory: &Path) -> anyhow::Result<()> {
        Ok(replace_inside(directory, FILE, &json::indented(self)?)?)
    }
}
