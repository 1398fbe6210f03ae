//! How far the interval of a tail must reach if some of the largest peaks have a cause of their own.
//!
//! Events of another cause may be too few, or lie too close to the rest, to be recognised. If the largest peaks are theirs, the
//! low end follows from the peaks below them, and the high end from them alone: few events, whose tail nobody knows better than
//! as exponential.

use super::peaks::fit;
use statrs::distribution::{ChiSquared, ContinuousCDF};

/// Part of the peaks that may have another cause, and their least number.
const OTHERS_SHARE: usize = 8;
const OTHERS_MIN: usize = 10;
/// Numbers of largest peaks from which alone the high end is sought, too.
const FEW: [usize; 2] = [4, 10];

/// Number of the largest of N peaks that may have another cause.
pub fn others(peaks: usize) -> usize {
    (peaks / OTHERS_SHARE).max(OTHERS_MIN)
}

/// Low end of the excess that one of `peaks` peaks exceeds on average if the largest had another cause; `None` if the rest has no
/// fit. `largest_first`: excesses.
pub fn low_without_others(largest_first: &[f64], peaks: f64, confidence: f64) -> Option<f64> {
    let rest = largest_first.get(others(largest_first.len())..)?;
    fit(rest)?.excess_interval(rest, peaks, confidence)?.low
}

/// High end of the level that the largest latency of `times` times this time exceeds with probability one half, if the few largest
/// had a cause of their own, for the number of them that raises it most. `largest_first`: latencies.
pub fn high_of_few(largest_first: &[f64], times: f64, confidence: f64) -> Option<f64> {
    let high = |few: usize| {
        let below = *largest_first.get(few)?;
        let sum: f64 = largest_first[..few].iter().map(|latency| latency - below).sum();
        let scale = 2.0 * sum / ChiSquared::new(2.0 * few as f64).ok()?.inverse_cdf((1.0 - confidence) / 2.0);
        Some(below + scale * (few as f64 * times / std::f64::consts::LN_2).ln())
    };
    FEW.into_iter().filter_map(high).max_by(f64::total_cmp)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coin::Coin;

    /// Exponential excesses, largest first.
    fn excesses(seed: u64) -> Vec<f64> {
        let mut coin = Coin::new(seed);
        let mut excesses: Vec<f64> = (0..400).map(|_| -(1.0 - coin.unit()).ln()).collect();
        excesses.sort_by(|one, other| other.total_cmp(one));
        excesses
    }

    #[test]
    fn the_largest_do_not_move_the_low_end() {
        let mut some = excesses(5);
        let low = |excesses: &[f64]| low_without_others(excesses, 4000.0, 0.95).unwrap();
        let regular = low(&some);
        // The truth is ln 4000 = 8.3.
        assert!((1.0..8.3).contains(&regular), "{regular}");
        some[..50].iter_mut().for_each(|excess| *excess *= 10.0);
        assert_eq!(low(&some), regular);
        assert_eq!(low_without_others(&some[..10], 4000.0, 0.95), None);
    }

    #[test]
    fn four_events_of_another_cause_raise_the_high_end_beyond_their_next_ones() {
        let series = 200;
        let holds = |seed: u64| {
            let (mut some, mut coin) = (excesses(seed), Coin::new(1000 + seed));
            some.splice(0..4, [0; 4].map(|_| 8.0 - 4.0 * (1.0 - coin.unit()).ln()));
            some.sort_by(|one, other| other.total_cmp(one));
            let truth = 8.0 + 4.0 * (40.0f64 / std::f64::consts::LN_2).ln();
            high_of_few(&some, 10.0, 0.95).unwrap() > truth
        };
        let held = (0..series).filter(|seed| holds(*seed)).count();
        assert!(held as f64 >= 0.95 * series as f64, "{held} of {series}");
        assert_eq!(high_of_few(&[1.0, 2.0], 10.0, 0.95), None);
    }
}
