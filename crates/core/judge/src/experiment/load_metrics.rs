//! The work of loads as figures of an experiment.

use super::round::{PairedRound, VariantFigures, pairs};
use super::{Metric, Scale};
use crate::figures::LoadRate;
use claims::figure_name::FigureName;
use claims::unit::Unit;

/// Work of each load that all runs have. The processor time of a command does not measure its work.
pub fn load_metrics(rounds: &[PairedRound]) -> Vec<Metric> {
    let Some(first) = rounds.first() else { return Vec::new() };
    let metric = |load: &LoadRate| Metric {
        name: FigureName::Load(load.name.clone()),
        unit: Unit::work(&load.unit),
        scale: Scale::Ratio,
    };
    let doing_work = first.a.loads.iter().filter(|load| load.counts_work()).map(metric);
    let unit_of = |figures: &VariantFigures, wanted: &Metric| {
        figures.loads.iter().all(|load| wanted.name.load() != Some(&load.name) || metric(load) == *wanted)
    };
    let everywhere = |wanted: &Metric| {
        let alike = rounds.iter().all(|round| unit_of(&round.a, wanted) && unit_of(&round.b, wanted));
        alike && pairs(rounds, wanted).is_some()
    };
    let mut metrics: Vec<Metric> = doing_work.filter(everywhere).collect();
    metrics.dedup();
    metrics
}
