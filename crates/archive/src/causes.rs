//! What the spikes of a whole run have in common: which culprits, how often, on which CPUs, and in what rhythm.

use crate::explanation::PhaseName;
use serde::{Deserialize, Serialize};

/// Spikes on one CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuCount {
    pub cpu: u32,
    pub count: u32,
}

/// A rhythm that random instants would show by chance less often than the level of the test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Period {
    pub period_ns: i64,
    /// Where in a period it happens: due instant modulo the period, CLOCK_MONOTONIC, in ns.
    pub phase_ns: i64,
    /// Probability that random instants look as regular, corrected for everything that was tried.
    pub p: f64,
    /// How many times it happened, bursts counted once.
    pub times: u32,
    /// What has this period in every kernel; empty when nothing known has.
    pub known_as: String,
}

/// The spikes that one culprit explains.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CauseGroup {
    /// Identifier of the culprit; `None`: the spikes that are not explained.
    pub culprit: Option<String>,
    /// The culprit in a few words.
    pub title: String,
    /// Numbers of the spikes, largest first.
    pub spikes: Vec<u32>,
    pub latency_ns_max: i64,
    /// Most spikes first.
    pub cpus: Vec<CpuCount>,
    /// How many of the worst samples of the run are spikes of this group.
    pub worst: u32,
    pub period: Option<Period>,
    /// Why no period can be told, or what it means, in words; empty when none was found.
    pub rhythm: String,
}

/// The chance that the next spike has a cause that has not been seen, after Good and Turing.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct NewCause {
    /// Spikes with a known cause.
    pub attributed: u32,
    /// Causes that were seen exactly once.
    pub seen_once: u32,
    /// Spikes that nothing explains; each may be of a cause of its own. Older documents do not count them.
    #[serde(default)]
    pub unexplained: u32,
    pub chance: f64,
    /// The chance is at most this, with 95 % confidence, if spikes are independent.
    pub chance_max: f64,
}

/// One part of a composed latency.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ComposedPart {
    pub phase: PhaseName,
    pub ns: i64,
    /// The spike it was seen in.
    pub spike: u32,
}

/// What a wake-up would take if the worst phases of different spikes met in one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Composed {
    pub ns: i64,
    /// In their order on the way; they sum to `ns`.
    pub parts: Vec<ComposedPart>,
}

/// The causes of a run's spikes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunCauses {
    /// Most spikes first, the unexplained last.
    pub groups: Vec<CauseGroup>,
    /// Samples among the worst that were looked at, 1000 at most.
    pub worst_samples: u32,
    /// How many of them have a trace.
    pub worst_with_trace: u32,
    pub new_cause: Option<NewCause>,
    pub composed: Option<Composed>,
    /// What was found, a sentence each, most important first.
    pub sentences: Vec<String>,
}
