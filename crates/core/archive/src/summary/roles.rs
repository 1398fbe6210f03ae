//! Measurements of another machine that takes part, with their quantiles.

use super::figures::LatencyFigures;
use crate::lateness::PeriodLateness;
use crate::manifest::RunState;
use crate::roles::{RoleFigures, RunRole};
use serde::{Deserialize, Serialize};

/// Measurements of another machine that takes part, condensed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RoleSummary {
    pub role: RunRole,
    pub target: String,
    /// As the value of `--method`.
    pub method: String,
    /// The instants at which a sample starts and ends.
    pub from: String,
    pub to: String,
    /// Its clock is that of this run: both were in the same boot of one machine. Otherwise each has its own, and they are not
    /// aligned.
    pub same_clock: bool,
    pub state: RunState,
    /// How its run ended, unless as requested.
    pub ending: Option<String>,
    pub samples: u64,
    pub missed: u64,
    pub unanswered: u64,
    pub stray: u64,
    pub latency_ns: LatencyFigures,
}

impl RoleSummary {
    /// `boot_id`: that of the run that this is shown with.
    pub(super) fn of(figures: &RoleFigures, boot_id: Option<&str>) -> Self {
        let (from, to) = figures.method.path();
        let (min, max) = (figures.latency_ns_min, figures.latency_ns_max);
        Self {
            role: figures.role,
            target: figures.target.clone(),
            method: figures.method.text(),
            from: from.into(),
            to: to.into(),
            same_clock: boot_id.is_some() && figures.boot_id.as_deref() == boot_id,
            state: figures.state,
            ending: figures.ending.clone(),
            samples: figures.samples,
            missed: figures.missed,
            unanswered: figures.unanswered,
            stray: figures.stray,
            latency_ns: LatencyFigures::of(
                &PeriodLateness::of_samples(&figures.histogram, 0),
                1,
                min,
                figures.mean_ns(),
                max,
            ),
        }
    }
}
