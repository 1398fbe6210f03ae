//! A figure that is compared.

use crate::figure_name::FigureName;
use crate::unit::Unit;
use serde::{Deserialize, Serialize};

/// How the values of a figure are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scale {
    /// By their ratio: latencies, rates of loads.
    Ratio,
    /// By the difference of their square roots, whose scatter does not depend on the count: counts.
    Count,
}

/// A figure that is compared, fixed before the first round.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Metric {
    pub name: FigureName,
    /// Nanoseconds, events a run, or a load's unit for each second.
    pub unit: Unit,
    pub scale: Scale,
}
