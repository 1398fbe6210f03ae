//! Result of tuning, so far or at its end.

use super::together::Pair;
use crate::observer::Estimate;
use serde::{Deserialize, Serialize};

/// How far tuning came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TuneState {
    Screening,
    Confirming,
    /// Tests which members help only together.
    Pairing,
    /// Every candidate is decided.
    Decided,
    /// The budget ended before.
    OutOfRuns,
}

/// A candidate that is shown to be needed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Member {
    pub candidate: usize,
    /// Ratio of the figure without the candidate to that with it, beside the other members.
    pub effect: Estimate,
    /// Corrected for all tested candidates.
    pub p_value: f64,
}

/// A candidate that does not help by the least effect of interest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Useless {
    pub candidate: usize,
    /// Ratio of the figure without the candidate to that with it; below 1 the candidate harms.
    pub effect: f64,
    /// Whether the tested set lost nothing without it; otherwise screening left it out.
    pub was_tested: bool,
}

/// A candidate that the runs do not decide.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Undecided {
    pub candidate: usize,
    /// `None`: there are too few runs for an estimate.
    pub effect: Option<f64>,
    /// About as many more rounds would decide at this rate; `None` if nothing can be said.
    pub rounds_more: Option<u32>,
}

/// Result of tuning.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TuneResult {
    pub state: TuneState,
    /// Runs that count.
    pub runs: u32,
    pub confidence: f64,
    /// Least effect of interest, as a ratio.
    pub least: f64,
    /// The set to apply, in the order of the effect, largest first.
    pub members: Vec<Member>,
    /// Ratio of the figure without any candidate to that with the set under test. `None` without a round.
    pub total: Option<Estimate>,
    pub pairs: Vec<Pair>,
    pub useless: Vec<Useless>,
    pub undecided: Vec<Undecided>,
}
