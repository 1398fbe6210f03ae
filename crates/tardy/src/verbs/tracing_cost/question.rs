//! The question of a `tardy experiment tracing-cost` series.

use crate::measuring::rounds::{self, Question};
use archive::settings::RunSettings;
use judge::observer::{Level, ObserverEffect};
use serde::{Deserialize, Serialize};

/// A level that is not available on the target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AbsentLevel {
    pub level: Level,
    pub why: String,
}

/// The cost of recording on a target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    pub observe_version: u32,
    pub target: String,
    /// Settings of every run; the trace part is that of the level `events`.
    pub settings: RunSettings,
    pub levels_absent: Vec<AbsentLevel>,
    /// Whether each level was tried once before the first round.
    pub probed: bool,
}

impl Question for Cost {
    type Answer = ObserverEffect;
    const FILE: &'static str = "observe.json";
    const VERB: &'static str = "experiment tracing-cost";
    const VERSION: u32 = 1;

    fn version(&self) -> u32 {
        self.observe_version
    }
}

pub type Journal = rounds::Journal<Cost>;
