//! Two variants in randomised rounds: which figures differ, by how much, and what change would have been found.

mod carry_over;
mod causes;
mod enough;
mod failures;
mod load_metrics;
mod metric;
mod outcome;
mod round;
mod tested;
#[cfg(test)]
mod tests;

use carry_over::carry_over;
pub use claims::experiment::{
    CarryOver, CulpritResult, ExperimentResult, Failed, FailureResult, MetricResult, Outcome, Stopping,
};
use claims::experiment::{ErrorParts, SMALL_CHANGE};
pub use claims::metric::{Metric, Scale};
pub(crate) use enough::Enough;
pub use enough::rounds_needed;
use failures::failures;
pub use failures::void_rounds_max;
pub use metric::metrics;
pub(crate) use metric::samples_needed;
pub use round::{PairedRound, VariantFigures, variant_figures};

use crate::e_process::evidence;
use crate::multiplicity::weighted_holm;
use crate::observer::Estimate;
use crate::sign_flip::{Interval, PAIRS_MAX};
use causes::culprits;
use load_metrics::load_metrics;
use outcome::answer;
use round::{differences, pairs, scaled};
use tested::Tested;

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
    others.retain(|metric| scaled(rounds, metric).is_some());
    let parts = ErrorParts::of(others.len());
    let row = |metric: &Metric, part: f64| compared(rounds, metric, confidence, part * risk, stopping);
    let mut rows = vec![(row(first, parts.primary)?, parts.primary)];
    rows.extend(others.iter().filter_map(|metric| Some((row(metric, parts.other)?, parts.other))));
    let adjusted = weighted_holm(&rows.iter().map(|(row, part)| (row.p_value, *part)).collect::<Vec<_>>());
    let mut rows: Vec<MetricResult> = rows.into_iter().map(|(row, _)| row).collect();
    for (row, p) in rows.iter_mut().zip(adjusted) {
        row.p_adjusted = p;
        row.differs = p <= risk;
        let more = row.detectable.and_then(|size| rounds_for(size, rounds.len()));
        row.sentence = words::claims::experiment::figure(row, rounds.len(), more, confidence);
    }
    let enough = Enough::of(rounds.len(), others.len(), confidence, stopping);
    let failures = failures(failed, risk, stopping);
    let answer = answer(rounds, &rows, &enough, failures.as_ref(), confidence);
    let not_showable = enough.not_showable(&rows).into_iter().cloned().collect();
    let mut rows = rows.into_iter();
    Some(ExperimentResult {
        rounds: rounds.len() as u32,
        confidence,
        stopping,
        outcome: answer.outcome,
        evidence: evidence(&differences(&scaled(rounds, first)?)),
        primary: rows.next()?,
        secondary: rows.collect(),
        culprits: culprits(rounds, risk),
        failures,
        carry_over: carry_over(rounds, first, risk),
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
    let scaled = scaled(rounds, metric)?;
    let tested = match stopping {
        Stopping::FixedRounds => Tested::by_coin(&scaled, confidence, level)?,
        Stopping::UntilDecided => Tested::by_evidence(&differences(&scaled), confidence),
    };
    let count = pairs.len() as f64;
    let mean = |side: &dyn Fn(&(f64, f64)) -> f64| match metric.scale {
        Scale::Ratio => (pairs.iter().map(|pair| side(pair).ln()).sum::<f64>() / count).exp(),
        Scale::Count => pairs.iter().map(side).sum::<f64>() / count,
    };
    let by_ratio = metric.scale == Scale::Ratio;
    let interval = tested.interval.map(|ends| Interval { low: ends.low.exp(), high: ends.high.exp(), confidence });
    let ratio = by_ratio.then(|| Estimate { value: tested.estimate.exp(), interval });
    let (a, b) = (mean(&|pair| pair.0), mean(&|pair| pair.1));
    // A count has no estimate but its means: where outlier runs turn them round, they show nothing.
    let p_value = if by_ratio || tested.agrees_with(b - a) { tested.p_value } else { 1.0 };
    Some(MetricResult {
        metric: metric.clone(),
        a,
        b,
        ratio,
        p_value,
        p_adjusted: p_value,
        detectable: tested.detectable.filter(|_| by_ratio).map(f64::exp),
        differs: false,
        sentence: String::new(),
    })
}

/// Rounds that find [`SMALL_CHANGE`] where these found no less than `size`, a ratio: the scatter of a mean falls with their root.
fn rounds_for(size: f64, rounds: usize) -> Option<u64> {
    let times = (size.ln() / SMALL_CHANGE.ln()).powi(2);
    (times > 1.0 && times.is_finite()).then(|| (rounds as f64 * times).ceil() as u64)
}
