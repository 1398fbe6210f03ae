//! Two variants in randomised rounds: which figures differ, by how much, and what change would have been found.

mod causes;
mod load_metrics;
mod metric;
mod result;
mod round;
#[cfg(test)]
mod tests;

pub use metric::{Metric, Scale, metrics};
pub use result::{CulpritResult, ExperimentResult, MetricResult, Outcome};
pub use round::{PairedRound, VariantFigures, variant_figures};

use crate::e_process::{self, evidence};
use crate::multiplicity::weighted_holm;
use crate::observer::Estimate;
use crate::power::detectable;
use crate::sign_flip::{Interval, PAIRS_MAX, SignFlip};
use causes::culprits;
use load_metrics::load_metrics;
use result::sentence;
use round::{differences, pairs};
use serde::{Deserialize, Serialize};
use words::amounts::percent;

/// Share of the allowed error for the primary figure; the others share the rest.
pub const PRIMARY_PART: f64 = 0.8;

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
    metrics: &[Metric],
    confidence: f64,
    stopping: Stopping,
) -> Option<ExperimentResult> {
    let rounds = &rounds[..rounds.len().min(PAIRS_MAX)];
    let risk = 1.0 - confidence;
    let (first, others) = metrics.split_first()?;
    let mut others: Vec<Metric> = others.iter().cloned().chain(load_metrics(rounds)).collect();
    others.retain(|metric| differences(rounds, metric).is_some());
    let part = if others.is_empty() { 1.0 } else { PRIMARY_PART };
    let other_part = (1.0 - part) / others.len().max(1) as f64;
    let row = |metric: &Metric, part: f64| compared(rounds, metric, confidence, part * risk, stopping);
    let mut rows = vec![(row(first, part)?, part)];
    rows.extend(others.iter().filter_map(|metric| Some((row(metric, other_part)?, other_part))));
    let adjusted = weighted_holm(&rows.iter().map(|(row, part)| (row.p_value, *part)).collect::<Vec<_>>());
    let mut rows: Vec<MetricResult> = rows.into_iter().map(|(row, _)| row).collect();
    for (row, p) in rows.iter_mut().zip(adjusted) {
        row.p_adjusted = p;
        row.differs = p <= risk;
        row.sentence = sentence(row, rounds.len(), confidence);
    }
    let enough = SignFlip::of(&vec![0.0; rounds.len()]).ok()?.interval(1.0 - part * risk);
    let (outcome, decisive) = match &enough {
        Err(_) => (Outcome::TooFewRounds, Vec::new()),
        Ok(_) => headline(&rows),
    };
    let sentence = match enough {
        Err(few) => format!(
            "No verdict: {} at most {} confidence; {} needs {}.",
            if rounds.len() == 1 { "1 round allows".to_owned() } else { format!("{} rounds allow", rounds.len()) },
            percent(few.confidence_max),
            percent(confidence),
            few.rounds_needed
        ),
        Ok(_) => decisive.iter().map(|row| row.sentence.as_str()).collect::<Vec<_>>().join(" "),
    };
    let mut rows = rows.into_iter();
    Some(ExperimentResult {
        rounds: rounds.len() as u32,
        confidence,
        stopping,
        outcome,
        evidence: evidence(&differences(rounds, first)?),
        primary: rows.next()?,
        secondary: rows.collect(),
        culprits: culprits(rounds, risk),
        sentence,
    })
}

/// The outcome and the rows behind it, the deciding one first: the worst row that is shown to be worse, and the primary
/// one.
fn headline(rows: &[MetricResult]) -> (Outcome, Vec<&MetricResult>) {
    let harm = |row: &&MetricResult| row.harm().unwrap_or(0.0);
    let worst = rows.iter().filter(|row| row.harm().is_some()).max_by(|one, other| harm(one).total_cmp(&harm(other)));
    let first = rows.iter().find(|row| row.differs);
    match (worst, first) {
        (Some(worst), Some(first)) if std::ptr::eq(worst, first) => (Outcome::Worse, vec![worst]),
        (Some(worst), Some(first)) if first.harm().is_some() => (Outcome::Worse, vec![first, worst]),
        (Some(worst), first) => (Outcome::Worse, std::iter::once(worst).chain(first).collect()),
        (None, Some(better)) => (Outcome::Better, vec![better]),
        (None, None) => (Outcome::NoDifferenceFound, rows.iter().take(1).collect()),
    }
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
    let test = SignFlip::of(&differences).ok()?;
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
    let detectable = detectable(&differences, level).filter(|_| by_ratio && stopping == Stopping::FixedRounds);
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
