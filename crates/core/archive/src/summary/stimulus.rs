//! Measurements of an external board, with quantiles from its histogram.

use super::figures::LatencyFigures;
use crate::lateness::PeriodLateness;
use crate::stimulus::{CELL_NS, StimulusBoard};
use serde::{Deserialize, Serialize};

/// Measurements of the board that gave the stimuli of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StimulusBoardSummary {
    #[serde(flatten)]
    pub board: StimulusBoard,
    /// From the edge that the board gave to the edge that answered, by the board's clock. Minimum, mean and maximum are of its
    /// records; a quantile is the upper edge of a cell of its histogram, 1 µs wide.
    pub latency_ns: LatencyFigures,
}

impl StimulusBoardSummary {
    pub(super) fn of(board: &StimulusBoard) -> Self {
        let (histogram, beyond) = board.histogram();
        let ns = |value: Option<u64>| value.and_then(|value| i64::try_from(value).ok());
        let (min, max) = (ns(board.latency_ns_min), ns(board.latency_ns_max));
        let latency_ns =
            LatencyFigures::of(&PeriodLateness::of_samples(&histogram, beyond), CELL_NS, min, board.mean_ns(), max);
        Self { board: board.clone(), latency_ns }
    }
}
