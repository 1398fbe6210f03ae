//! Runs of the same system: identical to the last sample, or a defect of determinism.

use super::SeedRun;
use archive::settings::RunSettings;
pub use claims::virtual_time::FirstDifference;
use serde::{Deserialize, Serialize};

/// The relation of two runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Relation {
    /// Ingredients and settings are equal: every sample must be, too.
    Same,
    /// Only the seed differs: two trajectories of one system.
    OtherSeed,
    /// Something else differs as well, or may differ.
    OtherSystem,
}

/// Whether two runs are of one system. Archives without ingredients count as different systems.
pub fn relation(a: SeedRun, b: SeedRun) -> Relation {
    let known = !a.summary.ingredients.is_empty();
    let Some((settings_a, settings_b)) = a.summary.settings.as_ref().zip(b.summary.settings.as_ref()) else {
        return Relation::OtherSystem;
    };
    if !known || a.summary.ingredients != b.summary.ingredients || !alike(settings_a, settings_b) {
        Relation::OtherSystem
    } else if a.seed() != b.seed() {
        Relation::OtherSeed
    } else {
        Relation::Same
    }
}

/// Whether settings are equal except for the seed.
fn alike(a: &RunSettings, b: &RunSettings) -> bool {
    a == &RunSettings { dither_seed: a.dither_seed, ..b.clone() }
}

/// The first difference of two runs with one seed; `None` if all their samples are identical.
pub fn first_difference(a: SeedRun, b: SeedRun) -> Option<FirstDifference> {
    let longest = a.samples.len().max(b.samples.len());
    let at = |run: SeedRun, number: usize| run.samples.get(number).copied();
    let sample = (0..longest).find(|number| at(a, *number) != at(b, *number))?;
    Some(FirstDifference { seed: a.seed(), sample, a: at(a, sample), b: at(b, sample) })
}
