//! Two variants in randomised rounds: which figures differ, by how much, and what change would have been found.

mod carry_over;
mod causes;
mod enough;
mod failures;
mod load_metrics;
mod metric;
mod outcome;
mod result;
mod round;
#[cfg(test)]
mod tests;

pub use carry_over::CarryOver;
pub(crate) use enough::Enough;
pub use enough::rounds_needed;
pub use failures::{Failed, FailureResult};
pub use metric::{Metric, Scale, metrics};
pub use result::{CulpritResult, ExperimentResult, MetricResult, Outcome};
pub use round::{PairedRound, VariantFigures, variant_figures};

use crate::e_process::{self, evidence};
use crate::multiplicity::weighted_holm;
use crate::observer::Estimate;
use crate::paired_test::PairedTest;
use crate::power::detectable;
use crate::sign_flip::{Interval, PAIRS_MAX};
use causes::culprits;
use enough::Parts;
use load_metrics::load_metrics;
use outcome::answer;
use result::sentence;
use round::{differences, pairs};
use serde::{Deserialize, Serialize};

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

/// Compares the variants; `None` without a complete round or a metric. `metrics` were fixed in advance, the primary one
/// first. Rounds beyond [`PAIRS_MAX`] are left out.
pub fn experiment(
    rounds: &[PairedRound],
    failed: Failed,
    metrics: &[Metric],
    confidence: f64,
    stopping: Stopping,
) -> Option<ExperimentResult> {
    let rounds = &rounds[..rounds.len().min(PAIRS_MAX)];
    let risk = 1.0 - confidence;
    let (first, others) = metrics.split_first()?;
    let mut others: Vec<Metric> = others.iter().cloned().chain(load_metrics(rounds)).collect();
    others.retain(|metric| differences(rounds, metric).is_some());
    let parts = Parts::of(others.len());
    let row = |metric: &Metric, part: f64| compared(rounds, metric, confidence, part * risk, stopping);
    let mut rows = vec![(row(first, parts.primary)?, parts.primary)];
    rows.extend(others.iter().filter_map(|metric| Some((row(metric, parts.other)?, parts.other))));
    let adjusted = weighted_holm(&rows.iter().map(|(row, part)| (row.p_value, *part)).collect::<Vec<_>>());
    let mut rows: Vec<MetricResult> = rows.into_iter().map(|(row, _)| row).collect();
    for (row, p) in rows.iter_mut().zip(adjusted) {
        row.p_adjusted = p;
        row.differs = p <= risk;
        row.sentence = sentence(row, rounds.len(), confidence);
    }
    let enough = Enough::of(rounds.len(), others.len(), confidence, stopping);
    let failures = FailureResult::of(failed, risk, stopping);
    let answer = answer(rounds, &rows, &enough, failures.as_ref(), confidence);
    let not_showable = enough.not_showable(&rows).into_iter().cloned().collect();
    let mut rows = rows.into_iter();
    Some(ExperimentResult {
        rounds: rounds.len() as u32,
        confidence,
        stopping,
        outcome: answer.outcome,
        evidence: evidence(&differences(rounds, first)?),
        primary: rows.next()?,
        secondary: rows.collect(),
        culprits: culprits(rounds, risk),
        failures,
        carry_over: CarryOver::of(rounds, first, risk),
        not_showable,
        rounds_needed: enough.rounds_needed,
        sentence: answer.sentence,
    })
}

fn compared(
    rounds: &[PairedRound],
    metric: &Metric,
    confidence: f64,
    level: f64,
    stopping: Stopping,
) -> Option<MetricResult> {
    let pairs = pairs(rounds, metric)?;
    let differences = differences(rounds, metric)?;
    let test = PairedTest::of(&differences).ok()?;
    let count = pairs.len() as f64;
    let mean = |side: &dyn Fn(&(f64, f64)) -> f64| match metric.scale {
        Scale::Ratio => (pairs.iter().map(|pair| side(pair).ln()).sum::<f64>() / count).exp(),
        Scale::Count => pairs.iter().map(side).sum::<f64>() / count,
    };
    let by_ratio = metric.scale == Scale::Ratio;
    let (p, interval) = match stopping {
        Stopping::FixedRounds => (test.p_value(), test.interval(confidence).ok()),
        Stopping::UntilDecided => (e_process::p_value(&differences), e_process::interval(&differences, confidence)),
    };
    let ratio = by_ratio.then(|| Estimate {
        value: test.mean().exp(),
        interval: interval.map(|interval| Interval { low: interval.low.exp(), high: interval.high.exp(), confidence }),
    });
    // What evidence after every round would have found depends on when it stops.
    let of_sums = test.level_of_each(level).and_then(|level| detectable(&differences, level));
    let detectable = of_sums.filter(|_| by_ratio && stopping == Stopping::FixedRounds);
    Some(MetricResult {
        metric: metric.clone(),
        a: mean(&|pair| pair.0),
        b: mean(&|pair| pair.1),
        ratio,
        p_value: p,
        p_adjusted: p,
        detectable: detectable.map(f64::exp),
        differs: false,
        sentence: String::new(),
    })
}
