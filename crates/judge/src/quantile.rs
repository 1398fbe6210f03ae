//! Which share of the wake-ups is later than a latency, with bounds that count stretches of time.
//!
//! Late wake-ups come in bursts, and a run that has not seen one does not show how long it would be. So a stretch of time
//! may be late from its beginning to its end, whatever was seen of the others.

use crate::lateness::Lateness;
use crate::mean_share::Shares;
use crate::memory;
use serde::{Deserialize, Serialize};

/// Fewer late seconds say nothing about whether they come together.
const LATE_SECONDS_MIN: usize = 3;
/// Where late samples are counted, FAIL takes longer stretches: what makes wake-ups late may come again for minutes.
const FAIL_STRETCH_S_MAX: usize = 600;
const FAIL_STRETCHES: usize = 6;

/// Wake-ups over a latency and the stretches they were counted in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct QuantileCounts {
    /// Periods that were due, served or not.
    pub samples: u64,
    /// Of those, how many were never served.
    pub missed: u64,
    /// Periods that were late, those never served among them: certainly, and at most.
    pub over: u64,
    pub over_most: u64,
    /// Length in seconds of stretches that are taken as independent, and their number.
    pub stretch_s: u32,
    pub stretches: u64,
    /// Seconds that were counted, and how many of them have no record.
    pub seconds: u64,
    pub seconds_unknown: u64,
}

/// How long stretches of time are that are independent as far as the run shows. The second value: whether it shows that.
/// `of_latest`: what [`memory::of_latest`] says of its seconds.
fn stretch_s(lateness: &Lateness, of_latest: Option<usize>) -> (usize, bool) {
    let late = lateness.late_of_seconds();
    let enough = late.iter().filter(|late| **late > 0.0).count() >= LATE_SECONDS_MIN;
    let bad: Vec<f64> = late.iter().map(|late| f64::from(u8::from(*late > 0.0))).collect();
    let of_late = if enough { memory::independent_s(&bad) } else { Some(1) };
    match (of_latest, of_late) {
        (Some(one), Some(other)) => (one.max(other), true),
        _ => ((lateness.length_s() / 20).max(1), false),
    }
}

/// Shares of late wake-ups in stretches that are taken as independent.
pub(crate) struct Stretches {
    /// As large as they may be, and as small.
    pub most: Shares,
    pub least: Shares,
    pub stretch_s: usize,
    /// Whether the run shows how long a stretch must be.
    pub independent: bool,
}

pub(crate) fn stretches(lateness: &Lateness, of_latest: Option<usize>) -> Stretches {
    let (stretch_s, independent) = stretch_s(lateness, of_latest);
    let fail_stretch_s = if lateness.counted {
        stretch_s.max((lateness.length_s() / FAIL_STRETCHES).min(FAIL_STRETCH_S_MAX))
    } else {
        // What is not placed is in as few stretches as hold it, so short ones do.
        stretch_s
    };
    Stretches {
        most: lateness.shares_most(stretch_s),
        least: lateness.shares_least(fail_stretch_s),
        stretch_s,
        independent,
    }
}

/// Stretches of time after which a share of late wake-ups below `allowed` may be claimed, if wake-ups are late in so many of them
/// throughout. `None`: more than anything measures.
pub fn stretches_needed(allowed: f64, late: u64, confidence: f64) -> Option<f64> {
    let shows = |stretches: f64| {
        let counts = vec![(0.0, stretches - late as f64), (1.0, late as f64)];
        Shares { counts }.show_less(allowed, confidence)
    };
    let (mut low, mut high) = (late as f64, 2.0 * late as f64 + 4.0);
    while !shows(high) {
        (low, high) = (high, 4.0 * high);
        if high > 1e18 {
            return None;
        }
    }
    while high - low > (1e-9 * high).max(0.5) {
        let middle = 0.5 * (low + high);
        if shows(middle) { high = middle } else { low = middle }
    }
    Some(high.ceil())
}

/// How many times as long a run like this one would have to be for PASS; infinite if it never would.
pub(crate) fn factor_needed(shares: &Shares, allowed: f64, confidence: f64) -> f64 {
    let passes = |factor: f64| shares.scaled(factor).show_less(allowed, confidence);
    let (mut low, mut high) = (1.0, 2.0);
    while !passes(high) {
        (low, high) = (high, 4.0 * high);
        if high > 1e9 {
            return f64::INFINITY;
        }
    }
    while high / low > 1.001 {
        let middle = 0.5 * (low + high);
        if passes(middle) { high = middle } else { low = middle }
    }
    high
}
