//! Runs in virtual time. The same system with the same seed produces exactly the same samples. Two systems are compared
//! over several seeds, by their distributions and cause by cause. The same archives always give the same result.
//!
//! None of this is about hardware: a nanosecond is an executed instruction.

mod asked;
mod baseline;
mod causes;
mod comparison;
#[cfg(test)]
mod example;
mod figures;
mod identity;
mod limit;
mod tracing_cost;

pub use baseline::{Baseline, BaselineCause, Drift, DriftKind, Moved, drift};
pub use causes::{Cause, CauseShift};
pub use comparison::{FigureShift, Refusal, Spread, VirtualComparison, compare, seeds_needed};
pub use figures::SeedFigures;
pub use identity::{FirstDifference, Relation, first_difference, relation};
pub use limit::{LimitOutcome, judge_limit};
pub use tracing_cost::{TracedWakeUp, TracingCost, tracing_cost};

use archive::explanation::Explanation;
use archive::summary::RunSummary;

/// One run in virtual time, with everything that is compared.
#[derive(Debug, Clone, Copy)]
pub struct SeedRun<'a> {
    pub summary: &'a RunSummary,
    /// Due instant and latency of each sample in order, in ns.
    pub samples: &'a [(i64, i64)],
    /// Explanations of its worst samples; empty if none was explained.
    pub explanations: &'a [Explanation],
}

impl SeedRun<'_> {
    /// The seed of its intervals; 0 if they were not randomised.
    pub fn seed(&self) -> u64 {
        self.summary.settings.as_ref().and_then(|settings| settings.dither_seed).unwrap_or_default()
    }

    /// Whether the run had no load.
    pub fn is_idle(&self) -> bool {
        self.summary.settings.as_ref().is_some_and(|settings| settings.loads.is_empty())
    }
}
