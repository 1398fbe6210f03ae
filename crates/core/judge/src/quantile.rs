//! The share of wake-ups that is later than a latency, with bounds that count stretches of time.
//!
//! Late wake-ups come in bursts, and a run without one does not show how long it would last. A stretch of time may
//! therefore be late throughout, whatever the others show.

use crate::lateness::Lateness;
use crate::mean_share::Shares;
use crate::memory::{self, STRETCHES_MIN};
pub use claims::verdict::QuantileCounts;

/// FAIL uses longer stretches where the run has enough of them: a disturbance may last for minutes.
const FAIL_STRETCH_S_MAX: usize = 600;
const FAIL_STRETCHES: usize = 6;
/// A second with this share of late wake-ups is one of a disturbance.
const MOSTLY: f64 = 0.5;

/// Length in seconds of independent stretches, and whether the run shows that they are independent: as long as a
/// disturbance may be, as the longest one that was seen, and as bad seconds resemble their neighbours.
fn stretch_s(lateness: &Lateness, disturbance_s: u32) -> (usize, bool) {
    let assumed = (disturbance_s.max(1) as usize).max(lateness.longest_s(MOSTLY));
    match memory::independent_s(lateness.late_of_seconds().iter().map(|late| *late > 0.0)) {
        Some(shown) => (assumed.max(shown), true),
        None => (assumed.max(lateness.length_s() / STRETCHES_MIN), false),
    }
}

/// Shares of late wake-ups in stretches that count as independent.
pub(crate) struct Stretches {
    /// The largest and the smallest possible shares.
    pub most: Shares,
    pub least: Shares,
    pub stretch_s: usize,
    pub fail_stretch_s: usize,
    /// Whether the run shows the necessary length of a stretch.
    pub independent: bool,
    /// Whether it has enough of them for PASS.
    pub enough: bool,
}

pub(crate) fn stretches(lateness: &Lateness, disturbance_s: u32) -> Stretches {
    let (stretch_s, independent) = stretch_s(lateness, disturbance_s);
    let fail_stretch_s = if lateness.counted {
        stretch_s.max((lateness.length_s() / FAIL_STRETCHES).min(FAIL_STRETCH_S_MAX))
    } else {
        // Samples without a second are in as few stretches as can hold them, so short stretches suffice.
        stretch_s
    };
    Stretches {
        most: lateness.shares_most(stretch_s),
        least: lateness.shares_least(fail_stretch_s),
        stretch_s,
        fail_stretch_s,
        independent,
        enough: lateness.length_s() >= STRETCHES_MIN * stretch_s,
    }
}

/// Number of stretches after which a share of late wake-ups below `allowed` may be claimed if `late` of them are late
/// throughout, at least [`STRETCHES_MIN`]. `None` if it is too large to measure.
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
    Some(high.ceil().max(STRETCHES_MIN as f64))
}

/// How many times as long a run like this must be for PASS; infinite if no length suffices.
pub(crate) fn factor_needed(shares: &Shares, allowed: f64, confidence: f64) -> f64 {
    let passes = |factor: f64| shares.scaled(factor).show_less(allowed, confidence);
    if passes(1.0) {
        return 1.0;
    }
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
