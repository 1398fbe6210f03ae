//! What the spikes of a whole run have in common: culprits, their frequency, CPUs and period.

use crate::culprit::Culprit;
use crate::explanation::PhaseName;
use serde::{Deserialize, Serialize};

/// Spikes on one CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CpuCount {
    pub cpu: u32,
    pub count: u32,
}

/// A period that random instants would show by chance less often than the level of the test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Period {
    pub period_ns: i64,
    /// Position within a period: due instant modulo the period, CLOCK_MONOTONIC, in ns.
    pub phase_ns: i64,
    /// Probability that random instants look as regular, corrected for everything that was tried.
    pub p: f64,
    /// Number of occurrences, bursts counted once.
    pub times: u32,
    /// A kernel mechanism with this period; empty if none is known.
    pub known_as: String,
}

/// The spikes that one culprit explains.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CauseGroup {
    /// `None` for unexplained spikes.
    pub culprit: Option<Culprit>,
    /// The culprit in a few words.
    pub title: String,
    /// Numbers of the spikes, largest first.
    pub spikes: Vec<u32>,
    pub latency_ns_max: i64,
    /// Most spikes first.
    pub cpus: Vec<CpuCount>,
    /// Number of the run's worst samples that are spikes of this group.
    pub worst: u32,
    pub period: Option<Period>,
    /// Why no period can be determined, or what it means; empty if none was found.
    pub rhythm: String,
}

impl CauseGroup {
    /// The identifier of the culprit, or the title of unexplained spikes.
    pub fn name(&self) -> &str {
        self.culprit.as_ref().map_or(&self.title, Culprit::id)
    }
}

/// The chance that the next spike has an unseen cause, after Good and Turing.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NewCause {
    /// Spikes with a known cause.
    pub attributed: u32,
    /// Causes that occurred exactly once.
    pub seen_once: u32,
    /// Spikes that nothing explains; each may have a separate cause. Older documents do not count them.
    #[serde(default)]
    pub unexplained: u32,
    pub chance: f64,
    /// Upper bound of the chance at 95 % confidence, if spikes are independent.
    pub chance_max: f64,
}

/// One part of a composed latency.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ComposedPart {
    pub phase: PhaseName,
    pub ns: i64,
    /// The spike in which it occurred.
    pub spike: u32,
}

/// Latency of a wake-up in which the worst phases of different spikes coincide.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Composed {
    pub ns: i64,
    /// In the order of the phases; they sum to `ns`.
    pub parts: Vec<ComposedPart>,
}

/// The causes of a run's spikes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunCauses {
    /// Most spikes first, the unexplained last.
    pub groups: Vec<CauseGroup>,
    /// Samples among the worst that were examined, at most 1000.
    pub worst_samples: u32,
    /// Examined samples that have a trace.
    pub worst_with_trace: u32,
    pub new_cause: Option<NewCause>,
    pub composed: Option<Composed>,
    /// Results, one sentence each, most important first.
    pub sentences: Vec<String>,
}
