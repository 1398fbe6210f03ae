//! An effect with all values that the data do not contradict.

use serde::{Deserialize, Serialize};

/// All values of an effect that the data do not contradict.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    pub low: f64,
    pub high: f64,
    /// Requested confidence, in 0 .. 1. The interval's actual confidence is at least this.
    pub confidence: f64,
}

impl Interval {
    pub fn contains(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }
}

/// A mean over the rounds with its interval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    pub value: f64,
    /// `None` if the rounds are too few for the requested confidence.
    pub interval: Option<Interval>,
}
