//! Causes of spikes by the runs in which they occurred.

use super::{CulpritResult, PairedRound, VariantFigures};
use crate::multiplicity::holm;
use crate::sign_flip::SignFlip;
use archive::culprit::Culprit;
use std::collections::BTreeSet;

/// Causes by the runs in which they occurred, those that differ first.
pub fn culprits(rounds: &[PairedRound], risk: f64) -> Vec<CulpritResult> {
    let names: BTreeSet<&Culprit> =
        rounds.iter().flat_map(|round| round.a.culprits.iter().chain(&round.b.culprits)).collect();
    let present = |figures: &VariantFigures, name: &Culprit| u32::from(figures.culprits.contains(name));
    let mut found: Vec<CulpritResult> = names
        .into_iter()
        .filter_map(|name| {
            let (a, b): (Vec<u32>, Vec<u32>) =
                rounds.iter().map(|round| (present(&round.a, name), present(&round.b, name))).unzip();
            let differences: Vec<f64> = a.iter().zip(&b).map(|(a, b)| f64::from(*b) - f64::from(*a)).collect();
            let p_adjusted = SignFlip::of(&differences).ok()?.p_value();
            Some(CulpritResult {
                culprit: name.clone(),
                a: a.iter().sum(),
                b: b.iter().sum(),
                p_adjusted,
                differs: false,
            })
        })
        .collect();
    let adjusted = holm(&found.iter().map(|culprit| culprit.p_adjusted).collect::<Vec<_>>());
    for (culprit, p) in found.iter_mut().zip(adjusted) {
        (culprit.p_adjusted, culprit.differs) = (p, p <= risk);
    }
    found.sort_by(|one, other| one.p_adjusted.total_cmp(&other.p_adjusted));
    found
}
