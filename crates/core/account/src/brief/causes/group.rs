//! Spikes with a common cause.

use crate::brief::left_out::{LeftOut, drop_last};
use crate::brief::short::Short;
use archive::causes::{CauseGroup, CpuCount};
use serde::Serialize;

#[derive(Debug, Clone, Serialize)]
pub struct BriefCause {
    /// Absent for spikes without an explanation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub culprit: Option<Short>,
    pub spikes: usize,
    /// Its largest; absent if it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worst_spike: Option<u32>,
    pub latency_ns_max: i64,
    pub cpus: Vec<CpuCount>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub period_ns: Option<i64>,
}

impl BriefCause {
    pub fn of(group: &CauseGroup) -> Self {
        Self {
            culprit: group.culprit.as_ref().map(|culprit| Short::name(culprit.id())),
            spikes: group.spikes.len(),
            worst_spike: group.spikes.first().copied(),
            latency_ns_max: group.latency_ns_max,
            cpus: group.cpus.clone(),
            period_ns: group.period.as_ref().map(|period| period.period_ns),
        }
    }

    pub fn shrink(&mut self, left_out: &mut LeftOut) -> bool {
        drop_last(&mut self.cpus, 1, &mut left_out.cpus)
    }
}
