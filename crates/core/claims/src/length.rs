//! Lengths of tests.

use crate::limit::Limit;
use serde::{Deserialize, Serialize};

/// Length of a test that shows a limit to hold despite `events` events.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Length {
    pub events: u64,
    /// On each CPU.
    pub hours: f64,
    /// Wake-ups on each CPU, for a limit on a quantile.
    pub samples: Option<f64>,
}

/// Test lengths that show a limit to hold.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Needed {
    pub limit: Limit,
    pub confidence: f64,
    pub lengths: Vec<Length>,
    pub sentence: String,
}

/// Above this rate the record of each second cannot resolve it.
pub const PER_HOUR_MAX: f64 = 360.0;
