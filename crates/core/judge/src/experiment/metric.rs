//! The figures that an experiment compares, fixed before the first round.

use claims::figure_name::FigureName;
use claims::metric::{Metric, Scale};
use claims::unit::Unit;

/// A quantile resolves if at least this number of a run's samples is expected above it: 25 independent ones if they
/// come in pairs.
const SAMPLES_ABOVE_MIN: f64 = 50.0;

/// Samples that a run needs for the quantile with this share of them below it.
pub(crate) fn samples_needed(share: f64) -> f64 {
    (SAMPLES_ABOVE_MIN / (1.0 - share)).round()
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
