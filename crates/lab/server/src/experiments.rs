//! Experiments as the program that starts the server finds them: two ways to run, measured in turns.

mod lookup;

use judge::experiment::{ExperimentResult, FailureResult, MetricResult, Outcome};
use serde::Serialize;
use std::path::PathBuf;
use utoipa::ToSchema;

pub(crate) use lookup::{Round, all, rounds_in_index, with_key};

/// How far the rounds got.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum SeriesState {
    /// In progress, or killed while in progress.
    Running,
    Complete,
    Interrupted,
    Failed,
}

/// One of the two ways to run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct Side {
    /// As typed, without those that both share; empty if there are none.
    pub options: String,
    /// Command before each run.
    pub before: Option<String>,
    pub target: String,
}

/// An experiment. All texts are untrusted.
#[derive(Debug, Clone, PartialEq)]
pub struct ExperimentSeries {
    /// Letters and digits for its address; the same as long as it is in the same place.
    pub key: String,
    pub name: String,
    pub started_unix_ns: i64,
    pub state: SeriesState,
    /// Why it failed.
    pub problem: Option<String>,
    pub a: Side,
    pub b: Side,
    pub rounds_asked: u32,
    /// Rounds that do not count, and why the last of them does not.
    pub voids: u64,
    pub void_because: Option<String>,
    pub emulated: bool,
    pub virtual_time: bool,
    /// `None` until a round is complete.
    pub result: Option<ExperimentResult>,
    /// Archives of A and B in each complete round.
    pub rounds: Vec<[PathBuf; 2]>,
}

impl ExperimentSeries {
    /// The figure that shows most clearly that B is worse; `None` if none shows it.
    pub fn worst(&self) -> Option<&MetricResult> {
        let result = self.result.as_ref()?;
        let rows = std::iter::once(&result.primary).chain(&result.secondary);
        let proven = rows.filter_map(|row| Some((row, row.harm()?)));
        proven.max_by(|one, other| one.1.total_cmp(&other.1)).map(|(row, _)| row)
    }

    /// The sentence that shows that B is worse or better; `None` without such a verdict.
    pub fn proof(&self) -> Option<&str> {
        let result = self.result.as_ref()?;
        match result.outcome {
            Outcome::Worse if result.failures.as_ref().is_some_and(FailureResult::b_is_worse) => Some(&result.sentence),
            Outcome::Worse => self.worst().map(|worst| worst.sentence.as_str()),
            Outcome::Better => Some(&result.sentence),
            Outcome::NoDifferenceFound | Outcome::TooFewRounds | Outcome::Undecided => None,
        }
    }

    /// The verdict in words, and the state as the pages colour it.
    pub fn verdict(&self) -> (&'static str, &'static str) {
        match self.result.as_ref().map(|result| result.outcome) {
            Some(Outcome::Worse) => ("B is worse", "bad"),
            Some(Outcome::Better) => ("B is better", "good"),
            Some(Outcome::NoDifferenceFound) => ("no difference shown", "none"),
            Some(Outcome::TooFewRounds) => ("too few rounds", "none"),
            Some(Outcome::Undecided) => ("undecided", "none"),
            None => ("no complete round", "none"),
        }
    }
}
