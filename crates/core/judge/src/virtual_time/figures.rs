//! The figures of one trajectory. All samples are known, so they are exact order statistics.

use claims::figure_name::FigureName;
use serde::{Deserialize, Serialize};

/// A quantile counts if at least this number of samples lies above it.
const SAMPLES_ABOVE_MIN: usize = 5;

/// Figures of one run, in ns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SeedFigures {
    pub seed: u64,
    pub samples: usize,
    pub p50_ns: i64,
    pub p99_ns: i64,
    /// `None` if too few samples lie above it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99_9_ns: Option<i64>,
    pub max_ns: i64,
}

impl SeedFigures {
    /// Number of figures with a name.
    pub const NAMED: usize = 4;

    /// `None` without any sample.
    pub fn of(seed: u64, samples: &[(i64, i64)]) -> Option<Self> {
        let mut sorted: Vec<i64> = samples.iter().map(|(_, latency_ns)| *latency_ns).collect();
        sorted.sort_unstable();
        let above = sorted.len() - rank(&sorted, 999, 1000);
        Some(Self {
            seed,
            samples: sorted.len(),
            p50_ns: quantile(&sorted, 1, 2)?,
            p99_ns: quantile(&sorted, 99, 100)?,
            p99_9_ns: quantile(&sorted, 999, 1000).filter(|_| above >= SAMPLES_ABOVE_MIN),
            max_ns: *sorted.last()?,
        })
    }

    /// Name and value of each figure.
    pub fn named(&self) -> [(FigureName, Option<i64>); Self::NAMED] {
        [
            (FigureName::P50, Some(self.p50_ns)),
            (FigureName::P99, Some(self.p99_ns)),
            (FigureName::P99_9, self.p99_9_ns),
            (FigureName::Max, Some(self.max_ns)),
        ]
    }
}

/// The smallest sample that a share `part` / `whole` of all samples does not exceed.
pub fn quantile(sorted: &[i64], part: usize, whole: usize) -> Option<i64> {
    sorted.get(rank(sorted, part, whole).checked_sub(1)?).copied()
}

fn rank(sorted: &[i64], part: usize, whole: usize) -> usize {
    (sorted.len() * part).div_ceil(whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_samples() {
        let samples: Vec<(i64, i64)> = (1..=1000).rev().map(|ns| (0, ns)).collect();
        let figures = SeedFigures::of(3, &samples).unwrap();
        assert_eq!((figures.p50_ns, figures.p99_ns, figures.max_ns), (500, 990, 1000));
        assert_eq!(figures.p99_9_ns, None, "one sample above is too few");
        let many: Vec<(i64, i64)> = (1..=10_000).map(|ns| (0, ns)).collect();
        assert_eq!(SeedFigures::of(3, &many).unwrap().p99_9_ns, Some(9990));
        assert_eq!(SeedFigures::of(3, &[]), None);
        assert_eq!(SeedFigures::of(3, &[(5, 7)]).unwrap().p50_ns, 7);
    }
}
