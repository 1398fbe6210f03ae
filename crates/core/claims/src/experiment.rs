//! The result of an experiment: each figure, each cause, the outcome.

use crate::figure_name::FigureName;
use crate::interval::Estimate;
use crate::metric::Metric;
use archive::culprit::Culprit;
use serde::{Deserialize, Serialize};

/// The result for one figure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MetricResult {
    pub metric: Metric,
    /// Geometric means over the rounds; arithmetic means for counts.
    pub a: f64,
    pub b: f64,
    /// Of b / a; `None` for counts.
    pub ratio: Option<Estimate>,
    /// Two-sided and exact.
    pub p_value: f64,
    /// Corrected for the other metrics; the primary one has the largest share of the error (Holm).
    pub p_adjusted: f64,
    /// The ratio that would have been found with 80 % probability; `None` for counts and if the rounds are too few.
    pub detectable: Option<f64>,
    pub differs: bool,
    pub sentence: String,
}

impl MetricResult {
    /// Factor by which B is shown to be worse: later, more missed, less work.
    pub fn harm(&self) -> Option<f64> {
        let ratio = self.b_to_a();
        let worse = if self.of_load().is_some() { 1.0 / ratio } else { ratio };
        (self.differs && worse > 1.0).then_some(worse)
    }

    /// The estimate of b / a.
    pub fn b_to_a(&self) -> f64 {
        self.ratio.as_ref().map_or(self.b / self.a, |ratio| ratio.value)
    }

    /// Whether outlier runs move the means so far that the rounds contradict their ratio.
    pub fn outliers_move_the_means(&self) -> bool {
        (self.b_to_a().ln() - (self.b / self.a).ln()).abs() > 1e-9
    }

    /// Name of the load, if the figure is the work of one.
    pub fn of_load(&self) -> Option<&str> {
        self.metric.name.load()
    }
}

/// Number of runs of each variant in which a cause occurred.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CulpritResult {
    pub culprit: Culprit,
    pub a: u32,
    pub b: u32,
    pub p_adjusted: f64,
    pub differs: bool,
}

/// The answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// A metric of B is shown to be worse.
    Worse,
    /// A metric is shown to be better, and none to be worse.
    Better,
    NoDifferenceFound,
    /// Nothing is shown to be worse, and the rounds are too few to show it of every figure.
    TooFewRounds,
    /// Nothing is shown, and more rounds of this kind do not help: runs change each other, or B may fail more often.
    Undecided,
}

/// The result of an experiment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExperimentResult {
    pub rounds: u32,
    pub confidence: f64,
    #[serde(default)]
    pub stopping: Stopping,
    pub outcome: Outcome,
    pub primary: MetricResult,
    pub secondary: Vec<MetricResult>,
    pub culprits: Vec<CulpritResult>,
    /// Evidence of a difference in the primary metric after each round; 1 / (1 - confidence) decides.
    pub evidence: Vec<f64>,
    /// Void rounds by the variant that failed; `None` if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failures: Option<FailureResult>,
    /// The effect of the run before on the primary figure; `None` if the order is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub carry_over: Option<CarryOver>,
    /// Figures of which so few rounds show no change, whatever they are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_showable: Vec<FigureName>,
    /// Rounds from which on every figure can be shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounds_needed: Option<u32>,
    pub sentence: String,
}

/// When an experiment ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stopping {
    /// After a number of rounds fixed in advance. The sign-flip test decides.
    #[default]
    FixedRounds,
    /// As soon as a figure is decided. The evidence decides, after every round and at the end.
    UntilDecided,
}

/// Void rounds, by the variant whose run failed. The coin decides which variant runs first, and a failed run ends its
/// round, so without a difference each is as likely to be of B as of A.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failed {
    pub a: u32,
    pub b: u32,
}

/// Whether one variant fails more often.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FailureResult {
    pub failed: Failed,
    /// Of the exact sign test, or of evidence that holds after every round; four fifths of the error are for "more often".
    pub p_value: f64,
    pub differs: bool,
    pub sentence: String,
}

impl FailureResult {
    pub fn b_is_worse(&self) -> bool {
        self.differs && self.failed.b > self.failed.a
    }
}

/// How runs that follow a run of B differ from runs that follow a run of A.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CarryOver {
    /// By this factor.
    pub ratio: f64,
    /// Two-sided and exact.
    pub p_value: f64,
    pub differs: bool,
    pub sentence: String,
}

/// A change that is worth more rounds, as a ratio.
pub const SMALL_CHANGE: f64 = 1.1;

/// Share of the allowed error for the primary figure; the others share the rest.
const PRIMARY_PART: f64 = 0.8;

/// Shares of the allowed error.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ErrorParts {
    pub primary: f64,
    /// Of each other figure.
    pub other: f64,
}

impl ErrorParts {
    pub fn of(others: usize) -> Self {
        match others {
            0 => Self { primary: 1.0, other: 1.0 },
            others => Self { primary: PRIMARY_PART, other: (1.0 - PRIMARY_PART) / others as f64 },
        }
    }
}
