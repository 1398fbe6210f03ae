//! The figures that an experiment compares, fixed before the first round.

use crate::figure_name::FigureName;
use crate::unit::Unit;
use serde::{Deserialize, Serialize};

/// A quantile resolves if at least this number of a run's samples is expected above it: 25 independent ones if they
/// come in pairs.
const SAMPLES_ABOVE_MIN: f64 = 50.0;

/// Samples that a run needs for the quantile with this share of them below it.
pub(crate) fn samples_needed(share: f64) -> f64 {
    (SAMPLES_ABOVE_MIN / (1.0 - share)).round()
}

/// How the values of a figure are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scale {
    /// By their ratio: latencies, rates of loads.
    Ratio,
    /// By the difference of their square roots, whose scatter does not depend on the count: counts.
    Count,
}

/// A figure that is compared, fixed before the first round.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Metric {
    pub name: FigureName,
    /// Nanoseconds, events a run, or a load's unit for each second.
    pub unit: Unit,
    pub scale: Scale,
}

/// The metrics of an experiment whose runs have this number of samples each. The first is primary: the highest quantile
/// that resolves. Added to them is the work of each load that ran in all runs.
pub fn metrics(samples: f64) -> Vec<Metric> {
    let resolves = |q: f64| samples * (1.0 + 1e-9) >= samples_needed(q);
    let latency = |name: FigureName| Metric { name, unit: Unit::Nanoseconds, scale: Scale::Ratio };
    let resolved = FigureName::QUANTILES.into_iter().filter(|(_, q)| resolves(*q));
    let mut metrics: Vec<Metric> = resolved.map(|(name, _)| latency(name)).rev().collect();
    if metrics.is_empty() {
        metrics.push(latency(FigureName::P50));
    }
    metrics.push(latency(FigureName::Max));
    let missed = Metric { name: FigureName::MissedPeriods, unit: Unit::PerRun, scale: Scale::Count };
    metrics.push(missed);
    metrics
}
