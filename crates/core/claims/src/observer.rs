//! The cost of recording.

use crate::figure_name::FigureName;
use crate::interval::Estimate;
use crate::unit::Unit;
use archive::problem::Remark;
use serde::{Deserialize, Serialize};

/// How much is recorded during a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Nothing.
    Off,
    /// The events that explanations use: the default of a run.
    Events,
    /// The events and every kernel function.
    Functions,
}

impl Level {
    pub const ALL: [Self; 3] = [Self::Off, Self::Events, Self::Functions];

    pub fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Events => "events",
            Self::Functions => "functions",
        }
    }
}

/// Effect of a level on one figure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FigureCost {
    /// The median, the p99, or the work of a load.
    #[serde(with = "crate::figure_name::without_prefix")]
    pub figure: FigureName,
    pub unit: Unit,
    /// Geometric means over the rounds; arithmetic means without a ratio.
    pub off: f64,
    pub traced: f64,
    /// Traced minus off, in `unit`; if there is an interval, it is that of the ratio, applied to `off`.
    pub difference: Estimate,
    /// Geometric mean of traced / off; `None` if a value is not positive and differences are compared instead.
    pub ratio: Option<Estimate>,
    /// P-value of "this level changes nothing", two-sided and exact.
    pub p_value: f64,
    pub sentence: String,
}

/// Cost of a level compared with no tracing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LevelCost {
    pub level: Level,
    pub figures: Vec<FigureCost>,
}

/// Smallest and largest of the maxima of a level's runs, in ns: descriptive, never tested.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Maxima {
    pub level: Level,
    pub low_ns: i64,
    pub high_ns: i64,
}

/// The result of a series of rounds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ObserverEffect {
    /// Complete rounds.
    pub rounds: u32,
    /// Requested confidence of each single interval, in 0 .. 1.
    pub confidence: f64,
    pub costs: Vec<LevelCost>,
    pub maxima: Vec<Maxima>,
    /// Why there are no intervals, if there are none.
    pub no_interval: Option<Remark>,
}
