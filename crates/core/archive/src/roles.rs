//! Measurements with a machine for each role: one answers, the other gives the stimuli and measures the round trips.

mod request;

pub use request::{RoleRequest, RoleWordsError};

use crate::histogram::Histogram;
use crate::loss::LossKind;
use crate::manifest::RunState;
use crate::method::MethodRequest;
use crate::reader::Run;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What a machine does in a measurement of several.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum RunRole {
    /// The machine under test, which answers. Its archive is that of the measurement.
    Target,
    /// The machine that gives the stimuli and sees the answers.
    Stimulus,
}

impl RunRole {
    /// Where its archive is, inside that of the target.
    pub fn directory(self) -> &'static str {
        match self {
            Self::Target => "",
            Self::Stimulus => "stimulus",
        }
    }
}

impl fmt::Display for RunRole {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Target => "target",
            Self::Stimulus => "stimulus",
        })
    }
}

/// What another machine of the same measurement has measured, by its own clock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RoleFigures {
    pub role: RunRole,
    /// Name of the machine.
    pub target: String,
    /// What a sample of it is.
    pub method: MethodRequest,
    /// Machines with the same one have the same clock.
    pub boot_id: Option<String>,
    pub state: RunState,
    /// How its run ended, unless as requested.
    pub ending: Option<String>,
    pub samples: u64,
    /// Periods without a stimulus, because the answer before was late.
    pub missed: u64,
    /// Stimuli without an answer: no signal.
    pub unanswered: u64,
    /// Answers that belong to no stimulus.
    pub stray: u64,
    pub latency_ns_min: Option<i64>,
    pub latency_ns_max: Option<i64>,
    pub latency_ns_sum: i64,
    pub histogram: Histogram,
}

impl RoleFigures {
    /// The figures of a run that has just ended.
    pub fn of(role: RunRole, target: &str, method: MethodRequest, run: &Run) -> Self {
        let totals = || run.threads.values().map(|thread| &thread.totals);
        let mut histogram = Histogram::default();
        run.threads.values().for_each(|thread| histogram.merge(&thread.histogram));
        let lost = |kind: LossKind| {
            run.losses.iter().filter(|loss| loss.kind == kind).map(|loss| loss.count).fold(0, u64::saturating_add)
        };
        Self {
            role,
            target: target.into(),
            method,
            boot_id: run.boot_id.clone(),
            state: RunState::Complete,
            ending: None,
            samples: totals().map(|totals| totals.cycles).fold(0, u64::saturating_add),
            missed: totals().map(|totals| totals.missed_periods).fold(0, u64::saturating_add),
            unanswered: lost(LossKind::Answers),
            stray: lost(LossKind::StrayAnswers),
            latency_ns_min: totals().filter_map(|totals| totals.latency_ns_min).min(),
            latency_ns_max: totals().filter_map(|totals| totals.latency_ns_max).max(),
            latency_ns_sum: totals().map(|totals| totals.latency_ns_sum).fold(0, i64::saturating_add),
            histogram,
        }
    }

    /// Restores the invariants on external data.
    pub fn normalised(mut self) -> Self {
        self.histogram = self.histogram.normalised();
        self
    }

    pub fn mean_ns(&self) -> Option<f64> {
        (self.samples > 0).then(|| self.latency_ns_sum as f64 / self.samples as f64)
    }
}
