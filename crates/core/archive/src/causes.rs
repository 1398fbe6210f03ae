//! Common causes of the spikes of a whole run: culprits, their frequency, CPUs and period.

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

/// The rhythm of a series of instants.
#[derive(Debug, Clone, PartialEq)]
pub enum Rhythm {
    None,
    TooFew,
    /// The instants are determined by when snapshots could be taken.
    OfTheRecorder,
    Period(Period),
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

/// Spikes of one cause within this time of the first of an occasion belong to it, in seconds.
pub const OCCASION_S: u32 = 600;

/// The chance that the next late wake-up has an unseen cause, after Good and Turing. Spikes of one cause within
/// [`OCCASION_S`] are one occasion: they are not independent.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NewCause {
    /// Occasions with a known cause.
    pub attributed: u32,
    /// Causes with exactly one occasion.
    pub seen_once: u32,
    /// Spikes that nothing explains; each may have a separate cause. Older documents do not count them.
    #[serde(default)]
    pub unexplained: u32,
    pub chance: f64,
    /// Upper bound of the chance at 95 % confidence, if occasions are independent.
    pub chance_max: f64,
}

impl NewCause {
    /// From the occasions of each known cause and the number of unexplained spikes, each of which may have a cause of its
    /// own. `None` without a known cause.
    pub fn of(occasions: &[u32], unexplained: u32) -> Option<Self> {
        let attributed = occasions.iter().sum();
        let seen_once = occasions.iter().filter(|count| **count == 1).count() as u32;
        let none = Self { attributed, seen_once, unexplained, chance: 0.0, chance_max: 1.0 };
        let (chance, chance_max) = none.bounds(0.95).filter(|_| attributed > 0)?;
        Some(Self { chance, chance_max, ..none })
    }

    /// The chance (Good 1953) and its upper bound at `confidence`, in 0 .. 1 (McAllester and Schapire 2000). `None`
    /// without occasions.
    pub fn bounds(&self, confidence: f64) -> Option<(f64, f64)> {
        let count = f64::from(self.attributed) + f64::from(self.unexplained);
        if count == 0.0 {
            return None;
        }
        let chance = (f64::from(self.seen_once) + f64::from(self.unexplained)) / count;
        let slack = (2.0 * 2f64.sqrt() + 3f64.sqrt()) * ((3.0 / (1.0 - confidence)).ln() / count).sqrt();
        Some((chance.min(1.0), (chance + slack).min(1.0)))
    }
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
