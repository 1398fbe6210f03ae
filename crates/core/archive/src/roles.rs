//! Measurements with a machine for each role: one answers, the other gives the stimuli and measures the round trips.

mod request;

pub use request::{RoleRequest, RoleWordsError};

use crate::histogram::Histogram;
use crate::manifest::RunState;
use crate::method::MethodRequest;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Role of a machine in a measurement of several.
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

/// Figures of another machine of the same measurement, by its own clock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RoleFigures {
    pub role: RunRole,
    /// Name of the machine.
    pub target: String,
    /// The method of its samples.
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
    /// Restores the invariants on external data.
    pub fn normalised(mut self) -> Self {
        self.histogram = self.histogram.normalised();
        self
    }

    pub fn mean_ns(&self) -> Option<f64> {
        (self.samples > 0).then(|| self.latency_ns_sum as f64 / self.samples as f64)
    }
}
