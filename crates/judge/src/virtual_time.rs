//! Runs in virtual time. The same system with the same seed has the same samples, all of them; two systems are compared
//! over several seeds, by their distributions and cause by cause. The same archives always give the same answer.
//!
//! Nothing here is about hardware: a nanosecond is an executed instruction.

mod asked;
mod baseline;
mod causes;
mod comparison;
#[cfg(test)]
mod example;
mod figures;
mod identity;
mod limit;
mod sign_test;
mod tracing_cost;

pub use baseline::{Baseline, BaselineCause, Drift, DriftKind, Moved, drift};
pub use causes::{Cause, CauseShift};
pub use comparison::{FigureShift, Refusal, Spread, VirtualComparison, compare};
pub use figures::SeedFigures;
pub use identity::{FirstDifference, Relation, first_difference, relation};
pub use limit::{LimitOutcome, judge_limit};
pub use tracing_cost::{TracedWakeUp, TracingCost, tracing_cost};

use archive::explanation::Explanation;
use archive::summary::RunSummary;

/// One run in virtual time, with all that is compared.
#[derive(Debug, Clone, Copy)]
pub struct SeedRun<'a> {
    pub summary: &'a RunSummary,
    /// Due instant and latency of every sample in their order, in ns.
    pub samples: &'a [(i64, i64)],
    /// Of its worst samples; empty where none was explained.
    pub explanations: &'a [Explanation],
}

impl SeedRun<'_> {
    /// What its intervals were drawn with; 0 where they were not.
    pub fn seed(&self) -> u64 {
        self.summary.settings.as_ref().and_then(|settings| settings.dither_seed).unwrap_or_default()
    }

    /// Whether nothing but the measurement ran.
    pub fn is_idle(&self) -> bool {
        self.summary.settings.as_ref().is_some_and(|settings| settings.loads.is_empty())
    }
}
