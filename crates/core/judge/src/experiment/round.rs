//! The contribution of runs to an experiment: their figures, loads and causes, in pairs.

use super::{Metric, Scale};
use crate::figures::{LoadRate, all_periods, load_rates, quantile_ns};
use archive::culprit::Culprit;
use archive::explanation::{Explanation, ExplanationStatus};
use archive::reader::Run;
use claims::figure_name::FigureName;
use std::collections::{BTreeMap, BTreeSet};

/// The contribution of one run to a comparison.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct VariantFigures {
    pub values: BTreeMap<FigureName, f64>,
    /// Work rates of its loads.
    pub loads: Vec<LoadRate>,
    /// Causes of its spikes.
    pub culprits: BTreeSet<Culprit>,
}

/// Both runs of a complete round.
#[derive(Debug, Clone, PartialEq)]
pub struct PairedRound {
    pub a: VariantFigures,
    pub b: VariantFigures,
    /// Whether the coin let B run first; `None`: not known.
    pub b_first: Option<bool>,
}

/// The figures of a run; `None` if it has no samples.
pub fn variant_figures(run: &Run, explanations: &[Explanation]) -> Option<VariantFigures> {
    let all = all_periods(run);
    let mut values: BTreeMap<FigureName, f64> = BTreeMap::new();
    for (name, q) in FigureName::QUANTILES {
        values.insert(name, quantile_ns(&all, q)?);
    }
    let max_ns = run.threads.values().filter_map(|thread| thread.totals.latency_ns_max).max()?;
    values.insert(FigureName::Max, max_ns as f64);
    let missed = run.threads.values().fold(0u64, |sum, thread| sum.saturating_add(thread.totals.missed_periods));
    values.insert(FigureName::MissedPeriods, missed as f64);
    let loads = load_rates(run);
    for load in &loads {
        // Loads of one name do the same work; the figure is their sum.
        *values.entry(FigureName::Load(load.name.clone())).or_default() += load.per_second;
    }
    let explained = explanations.iter().filter(|explanation| {
        explanation.status == ExplanationStatus::Explained && !run.is_ordinary(explanation.spike)
    });
    let culprits = explained.filter_map(|explanation| Some(explanation.findings.first()?.culprit.clone())).collect();
    Some(VariantFigures { values, loads, culprits })
}

/// The values of a metric in each round on the scale on which they are compared; `None` if one has no place there.
pub fn scaled(rounds: &[PairedRound], metric: &Metric) -> Option<Vec<(f64, f64)>> {
    let of = |(a, b): (f64, f64)| match metric.scale {
        Scale::Ratio => (a > 0.0 && b > 0.0).then(|| (a.ln(), b.ln())),
        Scale::Count => Some((a.max(0.0).sqrt(), b.max(0.0).sqrt())),
    };
    pairs(rounds, metric)?.into_iter().map(of).collect()
}

/// One difference per round, b against a.
pub fn differences(pairs: &[(f64, f64)]) -> Vec<f64> {
    pairs.iter().map(|(a, b)| b - a).collect()
}

/// The values of a metric in each round, if all rounds have it.
pub fn pairs(rounds: &[PairedRound], metric: &Metric) -> Option<Vec<(f64, f64)>> {
    rounds.iter().map(|round| Some((*round.a.values.get(&metric.name)?, *round.b.values.get(&metric.name)?))).collect()
}
