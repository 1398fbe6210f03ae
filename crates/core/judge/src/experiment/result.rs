//! The result of an experiment: each figure, each cause, the outcome.

use super::carry_over::CarryOver;
use super::failures::FailureResult;
use super::parts::Parts;
use super::{Metric, Stopping};
use crate::figure_name::FigureName;
use crate::observer::Estimate;
use archive::culprit::Culprit;
use serde::{Deserialize, Serialize};
use words::amounts::{change, p_value, percent, rough};

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

    fn b_to_a(&self) -> f64 {
        self.ratio.as_ref().map_or(self.b / self.a, |ratio| ratio.value)
    }

    /// Whether outlier runs move the means so far that the rounds contradict their ratio.
    fn outliers_move_the_means(&self) -> bool {
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

impl ExperimentResult {
    /// How the figures share the allowed error; `None` if there is only one.
    pub fn error_sentence(&self) -> Option<String> {
        let parts = Parts::of(self.secondary.len());
        let error = 1.0 - self.confidence;
        (!self.secondary.is_empty()).then(|| {
            format!(
                "Of experiments without a change, at most {} report one in {}, which was chosen beforehand, and at most {} in any other \
                 figure.",
                percent(parts.primary * error),
                self.primary.metric.name,
                percent((1.0 - parts.primary) * error)
            )
        })
    }
}

/// A change that is worth more rounds, as a ratio.
const SMALL_CHANGE: f64 = 1.1;

/// Rounds that find [`SMALL_CHANGE`] where these found no less than `size`, a ratio: the scatter of a mean falls with their root.
fn rounds_for(size: f64, rounds: usize) -> Option<u64> {
    let times = (size.ln() / SMALL_CHANGE.ln()).powi(2);
    (times > 1.0 && times.is_finite()).then(|| (rounds as f64 * times).ceil() as u64)
}

/// A figure's result in words.
pub fn sentence(result: &MetricResult, rounds: usize, confidence: f64) -> String {
    let metric = &result.metric;
    let p = p_value(result.p_adjusted);
    let direction = if result.b_to_a() > 1.0 { "raised" } else { "lowered" };
    let Some(ratio) = &result.ratio else {
        let (a, b) = (rough(result.a), rough(result.b));
        return if result.differs {
            format!("B {direction} {} from {a} to {b} {} ({rounds} rounds, {p}).", metric.name, metric.unit)
        } else {
            format!("No difference found in {}: {a} and {b} {} ({rounds} rounds, {p}).", metric.name, metric.unit)
        };
    };
    let amount = |value: f64| metric.unit.amount(value);
    let span = ratio.interval.map_or(String::new(), |interval| {
        format!(", {} interval {} to {}", percent(confidence), change(interval.low), change(interval.high))
    });
    if result.differs && result.outliers_move_the_means() {
        return format!(
            "B {direction} {} by at least {:.1} % ({}{span}; {rounds} rounds, {p}). Outlier runs move its means to {} of A and {} of B.",
            metric.name,
            (ratio.value - 1.0).abs() * 100.0,
            change(ratio.value),
            amount(result.a),
            amount(result.b)
        );
    }
    if result.differs {
        return format!(
            "B {direction} {} by {} ({}, from {} to {}{span}; {rounds} rounds, {p}).",
            metric.name,
            amount((result.b - result.a).abs()),
            change(ratio.value),
            amount(result.a),
            amount(result.b)
        );
    }
    let seen = match result.detectable {
        // Equal runs have no scatter to find a change in.
        Some(size) if metric.name != FigureName::Max && size >= 1.0005 => {
            let more = match rounds_for(size, rounds) {
                Some(more) => format!("; one of {:.0} % needs about {more} rounds", (SMALL_CHANGE - 1.0) * 100.0),
                None => String::new(),
            };
            format!(" A change of {:.1} % would have been found with 80 % probability{more}.", (size - 1.0) * 100.0)
        }
        _ => String::new(),
    };
    format!("No difference found in {} ({}{span}; {rounds} rounds, {p}).{seen}", metric.name, change(ratio.value))
}
