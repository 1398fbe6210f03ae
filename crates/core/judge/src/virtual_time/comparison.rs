//! Compares two systems over several seeds.

use super::SeedRun;
use super::causes;
use super::figures::SeedFigures;
use super::identity::{Relation, first_difference, relation};
use crate::caution::Caution;
use crate::difference::differences;
use crate::multiplicity::holm;
use crate::sign_test;
use archive::problem::Remark;
use claims::difference_kind::DifferenceKind;
use claims::figure_name::FigureName;
pub use claims::virtual_time::{FigureShift, FirstDifference, Spread, VirtualComparison};
use std::collections::BTreeMap;
use thiserror::Error;
use words::claims::virtual_time::seeds as seed_list;

/// Probability of calling any figure of two equal systems different.
const RISK: f64 = 0.05;

/// Why two sides cannot be compared.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Refusal {
    #[error("failed to compare: side {0} has no run in virtual time that kept its samples")]
    Empty(char),
    #[error(
        "failed to compare: the runs of side {side} are not of one system, they differ in {what}; give one system a side"
    )]
    Mixed { side: char, what: String },
    #[error("failed to compare: side {side} has seed {seed} twice; give each seed once")]
    Twice { side: char, seed: u64 },
    #[error(
        "failed to compare: the sides have no seed in common (A: {a}; B: {b}); run both with the same --seed and --seeds"
    )]
    NoCommonSeed { a: String, b: String },
    #[error("failed to compare: run {0} is not valid: {1}")]
    Invalid(String, String),
}

/// Compares the runs of two sides, paired by their seeds.
///
/// # Errors
/// [`Refusal`] if the sides cannot be compared.
pub fn compare(a: &[SeedRun], b: &[SeedRun]) -> Result<VirtualComparison, Refusal> {
    let (by_seed_a, by_seed_b) = (one_system('A', a)?, one_system('B', b)?);
    let pairs: Vec<(SeedRun, SeedRun)> =
        by_seed_a.iter().filter_map(|(seed, a)| Some((*a, *by_seed_b.get(seed)?))).collect();
    let Some((first_a, first_b)) = pairs.first().copied() else {
        let listed = |side: &BTreeMap<u64, SeedRun>| seed_list(&side.keys().copied().collect::<Vec<_>>());
        return Err(Refusal::NoCommonSeed { a: listed(&by_seed_a), b: listed(&by_seed_b) });
    };
    let in_one = |one: &BTreeMap<u64, SeedRun>, other: &BTreeMap<u64, SeedRun>| -> Vec<u64> {
        one.keys().filter(|seed| !other.contains_key(seed)).copied().collect()
    };
    let parted: Vec<FirstDifference> = pairs.iter().filter_map(|(a, b)| first_difference(*a, *b)).collect();
    let same_system = relation(first_a, first_b) == Relation::Same;
    let mut comparison = VirtualComparison {
        virtual_time: true,
        same_system,
        idle: first_a.is_idle() && first_b.is_idle(),
        seeds: pairs.iter().map(|(a, _)| a.seed()).collect(),
        unpaired: [in_one(&by_seed_a, &by_seed_b), in_one(&by_seed_b, &by_seed_a)].concat(),
        identical: pairs.len() - parted.len(),
        defect: parted.first().copied().filter(|_| same_system),
        figures: figures(&pairs),
        causes: causes::shifts(&pairs),
        differences: differences(first_a.summary, first_b.summary),
        cautions: Vec::new(),
        sentences: Vec::new(),
    };
    comparison.cautions = cautions(&comparison, &pairs);
    comparison.sentences = words::claims::virtual_time::comparison(&comparison, seeds_needed());
    Ok(comparison)
}

fn one_system<'a>(side: char, runs: &[SeedRun<'a>]) -> Result<BTreeMap<u64, SeedRun<'a>>, Refusal> {
    let mut by_seed: BTreeMap<u64, SeedRun> = BTreeMap::new();
    let first = runs.first().ok_or(Refusal::Empty(side))?;
    for run in runs {
        let summary = run.summary;
        if !summary.valid {
            return Err(Refusal::Invalid(summary.archive.clone(), Remark::joined(&summary.invalid_because)));
        }
        if run.samples.is_empty() || !summary.virtual_time {
            return Err(Refusal::Empty(side));
        }
        if let Some(what) = other_system(*first, *run) {
            return Err(Refusal::Mixed { side, what });
        }
        if by_seed.insert(run.seed(), *run).is_some() {
            return Err(Refusal::Twice { side, seed: run.seed() });
        }
    }
    Ok(by_seed)
}

/// The difference between two runs of one side, other than the seed.
fn other_system(first: SeedRun, run: SeedRun) -> Option<String> {
    if matches!(relation(first, run), Relation::Same | Relation::OtherSeed) {
        return None;
    }
    let found = differences(first.summary, run.summary).into_iter().map(|difference| difference.what);
    let named = found.into_iter().find(|what| *what != DifferenceKind::Seed).map(|what| what.to_string());
    // Archives without ingredients count as one system unless something else differs.
    named.or_else(|| (first.summary.ingredients != run.summary.ingredients).then(|| "their ingredients".into()))
}

fn figures(pairs: &[(SeedRun, SeedRun)]) -> Vec<FigureShift> {
    let of = |run: &SeedRun| SeedFigures::of(run.seed(), run.samples);
    let both: Vec<(SeedFigures, SeedFigures)> = pairs.iter().filter_map(|(a, b)| Some((of(a)?, of(b)?))).collect();
    let names: Vec<FigureName> = both.first().map_or(Vec::new(), |(a, _)| a.named().map(|(name, _)| name).to_vec());
    let value = |figures: &SeedFigures, name: &FigureName| figures.named().into_iter().find(|(n, _)| n == name)?.1;
    let shifted = names.into_iter().filter_map(|name| {
        let values: Option<Vec<(i64, i64)>> =
            both.iter().map(|(a, b)| Some((value(a, &name)?, value(b, &name)?))).collect();
        shift(name, &values?)
    });
    let mut shifts: Vec<FigureShift> = shifted.collect();
    let adjusted = holm(&shifts.iter().map(|shift| shift.p_adjusted).collect::<Vec<_>>());
    for (shift, p) in shifts.iter_mut().zip(adjusted) {
        (shift.p_adjusted, shift.differs) = (p, p <= RISK);
    }
    shifts
}

/// The least number of seeds with which a figure under load can be shown to differ: it moves the same way in all of them.
pub fn seeds_needed() -> usize {
    let figures = SeedFigures::NAMED as f64;
    (1..).find(|seeds| sign_test::p_value(*seeds, 0) * figures <= RISK).expect("the p-value halves with each seed")
}

fn shift(name: FigureName, values: &[(i64, i64)]) -> Option<FigureShift> {
    let shifts: Vec<i64> = values.iter().map(|(a, b)| b - a).collect();
    let (longer_in, shorter_in) =
        (shifts.iter().filter(|ns| **ns > 0).count(), shifts.iter().filter(|ns| **ns < 0).count());
    Some(FigureShift {
        name,
        a: spread(values.iter().map(|(a, _)| *a))?,
        b: spread(values.iter().map(|(_, b)| *b))?,
        shift: spread(shifts.iter().copied())?,
        longer_in,
        shorter_in,
        p_adjusted: sign_test::p_value(longer_in, shorter_in),
        differs: false,
    })
}

fn spread(values: impl Iterator<Item = i64>) -> Option<Spread> {
    let mut sorted: Vec<i64> = values.collect();
    sorted.sort_unstable();
    Some(Spread { least_ns: *sorted.first()?, median_ns: sorted[(sorted.len() - 1) / 2], most_ns: *sorted.last()? })
}

fn cautions(comparison: &VirtualComparison, pairs: &[(SeedRun, SeedRun)]) -> Vec<Remark> {
    let mut cautions = Vec::new();
    if !comparison.unpaired.is_empty() {
        cautions.push(Caution::Unpaired(seed_list(&comparison.unpaired)));
    }
    let unknown = pairs.iter().any(|(a, b)| a.summary.ingredients.is_empty() || b.summary.ingredients.is_empty());
    if unknown {
        cautions.push(Caution::IngredientsUnknown);
    }
    let settings_differ = comparison.differences.iter().any(|difference| difference.what == DifferenceKind::Load);
    if settings_differ {
        cautions.push(Caution::Loads);
    }
    let explained = |runs: &mut dyn Iterator<Item = &SeedRun>| runs.filter(|run| !run.explanations.is_empty()).count();
    let (a, b) = (explained(&mut pairs.iter().map(|(a, _)| a)), explained(&mut pairs.iter().map(|(_, b)| b)));
    if !comparison.idle && comparison.identical < pairs.len() && (a < pairs.len() || b < pairs.len()) {
        cautions.push(Caution::PartlyExplained { a, b, of: pairs.len() });
    }
    cautions.iter().map(Remark::new).collect()
}

#[cfg(test)]
mod tests;
