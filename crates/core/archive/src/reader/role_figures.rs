//! The figures of a run for the archives of the other machines in the same measurement.

use super::Run;
use crate::histogram::Histogram;
use crate::loss::LossKind;
use crate::manifest::RunState;
use crate::method::MethodRequest;
use crate::roles::{RoleFigures, RunRole};

impl Run {
    /// The figures of a run that has just ended.
    pub fn role_figures(&self, role: RunRole, target: &str, method: MethodRequest) -> RoleFigures {
        let totals = || self.threads.values().map(|thread| &thread.totals);
        let mut histogram = Histogram::default();
        self.threads.values().for_each(|thread| histogram.merge(&thread.histogram));
        RoleFigures {
            role,
            target: target.into(),
            method,
            boot_id: self.boot_id.clone(),
            state: RunState::Complete,
            ending: None,
            samples: totals().map(|totals| totals.cycles).fold(0, u64::saturating_add),
            missed: totals().map(|totals| totals.missed_periods).fold(0, u64::saturating_add),
            unanswered: self.lost(LossKind::Answers),
            stray: self.lost(LossKind::StrayAnswers),
            latency_ns_min: totals().filter_map(|totals| totals.latency_ns_min).min(),
            latency_ns_max: totals().filter_map(|totals| totals.latency_ns_max).max(),
            latency_ns_sum: totals().map(|totals| totals.latency_ns_sum).fold(0, i64::saturating_add),
            histogram,
        }
    }

    fn lost(&self, kind: LossKind) -> u64 {
        self.losses.iter().filter(|loss| loss.kind == kind).map(|loss| loss.count).fold(0, u64::saturating_add)
    }
}
