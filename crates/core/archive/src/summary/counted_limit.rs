//! The latency over which a run counts samples, and whether the run kept it.

use super::{CpuSummary, RunSummary};
use crate::watched::WatchedKind;

/// Whether a run kept the latency over which it counts samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CountedLimit {
    /// No sample was over it.
    Held,
    /// A sample was over it.
    Exceeded,
}

impl CountedLimit {
    /// `None` without a limit or samples, and of an invalid run. A run in progress can exceed its limit, but not hold it yet.
    pub fn of(summary: &RunSummary) -> Option<Self> {
        summary.settings.as_ref()?.limit_ns?;
        let sum = |of: fn(&CpuSummary) -> u64| summary.deciding().map(of).fold(0, u64::saturating_add);
        match (sum(|cpu| cpu.cycles), sum(|cpu| cpu.over_limit)) {
            _ if !summary.valid => None,
            (0, _) => None,
            (_, 0) if summary.goes_on => None,
            (_, 0) => Some(Self::Held),
            _ => Some(Self::Exceeded),
        }
    }
}

impl RunSummary {
    /// Samples of the deciding threads that the limit is about, cycles not among them: how many were over it, and their number.
    pub fn limited_samples(&self) -> (u64, u64) {
        let is_cycle =
            |cpu: &&CpuSummary| cpu.watched.as_ref().is_some_and(|watched| watched.kind == WatchedKind::Cycle);
        self.deciding().filter(|cpu| !is_cycle(cpu)).fold((0, 0), |(over, all): (u64, u64), cpu| {
            (over.saturating_add(cpu.over_limit), all.saturating_add(cpu.cycles))
        })
    }
}
