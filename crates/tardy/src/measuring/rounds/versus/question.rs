//! The question of a `tardy experiment` series.

use crate::measuring::rounds::{self, Question};
use crate::measuring::variant::Variant;
use judge::experiment::{ExperimentResult, Metric};
use serde::{Deserialize, Serialize};

/// Whether B differs from A.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Versus {
    pub experiment_version: u32,
    /// The name that the user gave it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    pub a: Variant,
    pub b: Variant,
    pub until_decided: bool,
    /// Fixed before the first round; the first metric is primary.
    pub metrics: Vec<Metric>,
}

impl Question for Versus {
    type Answer = ExperimentResult;
    const FILE: &'static str = "experiment.json";
    const VERB: &'static str = "experiment";
    const VERSION: u32 = 1;

    fn version(&self) -> u32 {
        self.experiment_version
    }
}

pub type Journal = rounds::Journal<Versus>;
