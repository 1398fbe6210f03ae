//! The conditions of extrapolating a series: stationary, without memory, finely resolved.

use crate::refusal::{Change, Refusal};
use crate::stationarity::{
    Test, best_split, kpss_lags, kpss_level, ljung_box, mann_kendall, records, runs_about_median,
};
pub use claims::extrapolation::{Gate, GateTest, GateTestName};

/// Probability with which each test may wrongly reject a sound series.
const RISK: f64 = 0.01;
/// Blocks start at one minute; memory may lengthen them up to the maximum.
const BLOCK_S: usize = 60;
const BLOCK_S_MAX: usize = 600;
const BLOCKS_MIN: usize = 30;
/// With more blocks the tests, which compare all pairs, take too long, so blocks are lengthened.
const BLOCKS_MAX: usize = 2000;

/// Maxima of blocks of `size` values; the remainder joins the last block.
pub fn block_maxima(series: &[f64], size: usize) -> Vec<f64> {
    let count = (series.len() / size.max(1)).max(1);
    let end = |number: usize| if number + 1 == count { series.len() } else { (number + 1) * size };
    let largest = |number: usize| series[number * size..end(number)].iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if series.is_empty() { Vec::new() } else { (0..count).map(largest).collect() }
}

/// Tests the maxima of each second. Returns the tests and the maxima of the blocks that passed them.
///
/// # Errors
/// Why the series must not be extrapolated, with the tests run so far.
pub fn pass(seconds: &[f64]) -> Result<(Gate, Vec<f64>), (Gate, Refusal)> {
    let longest = seconds.len() / BLOCKS_MIN;
    let mut block_s = BLOCK_S * (seconds.len() / BLOCK_S).div_ceil(BLOCKS_MAX).max(1);
    if longest < block_s {
        let (hours_measured, hours_needed) = (in_hours(seconds.len()), in_hours(BLOCKS_MIN * block_s));
        return Err((Gate::default(), Refusal::TooShort { hours_measured, hours_needed }));
    }
    let block_s_max = BLOCK_S_MAX.max(block_s);
    loop {
        let maxima = block_maxima(seconds, block_s);
        let mut gate = Gate { block_s: block_s as u32, tests: Vec::new() };
        add(&mut gate, GateTestName::Trend, mann_kendall(&maxima));
        add(&mut gate, GateTestName::Level, kpss_level(&maxima, kpss_lags(maxima.len())));
        add(&mut gate, GateTestName::Records, records(&maxima));
        if let Some(test) = failed(&gate) {
            let refusal = Refusal::NotStationary { change: changing(test), after_hours: split(&maxima, block_s) };
            return Err((gate, refusal));
        }
        add(&mut gate, GateTestName::Memory, ljung_box(&maxima, (maxima.len() / 5).min(20)));
        add(&mut gate, GateTestName::Runs, runs_about_median(&maxima));
        if gate.tests.len() < 5 {
            return Err((gate, Refusal::AllEqual));
        }
        if failed(&gate).is_none() {
            return Ok((gate, maxima));
        }
        block_s *= 2;
        if block_s > longest || block_s > block_s_max {
            return Err((gate, Refusal::BlocksCluster(in_hours(block_s / 2))));
        }
    }
}

fn add(gate: &mut Gate, name: GateTestName, test: Option<Test>) {
    gate.tests.extend(test.map(|test| GateTest {
        name,
        statistic: test.statistic,
        p_value: test.p_value,
        passed: test.p_value > RISK,
    }));
}

fn failed(gate: &Gate) -> Option<&GateTest> {
    gate.tests.iter().find(|test| !test.passed)
}

fn changing(failed: &GateTest) -> Change {
    match (failed.name, failed.statistic > 0.0) {
        (GateTestName::Trend, true) => Change::Rises,
        (GateTestName::Trend, false) => Change::Falls,
        (GateTestName::Records, true) => Change::MoreRecords,
        (GateTestName::Records, false) => Change::FewerRecords,
        _ => Change::Level,
    }
}

/// Hours after which the change is clearest.
fn split(maxima: &[f64], block_s: usize) -> Option<f64> {
    best_split(maxima, 5).map(|(at, _)| in_hours(at * block_s))
}

fn in_hours(seconds: usize) -> f64 {
    seconds as f64 / 3600.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coin::Coin;
    use fixtures::assert_sentence;

    fn series(count: usize, level: impl Fn(usize) -> f64) -> Vec<f64> {
        let mut coin = Coin::new(21);
        (0..count).map(|at| level(at) - 8.0 * (1.0 - coin.unit()).ln()).collect()
    }

    #[test]
    fn an_unchanging_series_passes() {
        let (gate, maxima) = pass(&series(7200, |_| 30.0)).unwrap();
        assert_eq!((gate.block_s, maxima.len(), gate.tests.len()), (60, 120, 5));
        assert!(gate.tests.iter().all(|test| test.passed));
    }

    #[test]
    fn changes_are_refused_with_their_place() {
        let (_, why) = pass(&series(7200, |at| if at < 3000 { 30.0 } else { 60.0 })).unwrap_err();
        assert!(matches!(why, Refusal::NotStationary { .. }), "{why}");
        assert_sentence!("not-stationary", why.to_string());
        let (_, why) = pass(&series(7200, |at| at as f64 / 100.0)).unwrap_err();
        assert!(matches!(why, Refusal::NotStationary { change: Change::Rises, .. }), "{why}");
    }

    #[test]
    fn clustered_latencies_need_longer_blocks_or_are_refused() {
        // Ten minutes with load, ten without.
        let loaded = |at: usize| if at % 1200 < 600 { 30.0 } else { 90.0 };
        let (_, why) = pass(&series(36_000, loaded)).unwrap_err();
        assert!(matches!(why, Refusal::BlocksCluster(_)), "{why}");
    }

    #[test]
    fn short_and_empty_series_are_refused() {
        for seconds in [vec![], vec![1.0], series(1799, |_| 1.0)] {
            assert!(matches!(pass(&seconds).unwrap_err().1, Refusal::TooShort { .. }));
        }
        assert_eq!(pass(&vec![5.0; 4000]).unwrap_err().1, Refusal::AllEqual);
        assert_eq!(block_maxima(&[1.0, 5.0, 2.0, 3.0, 9.0], 2), [5.0, 9.0]);
        assert!(block_maxima(&[], 2).is_empty());
    }

    #[test]
    fn long_series_have_longer_blocks() {
        let gate = pass(&series(60 * 5000, |_| 1.0)).map_or_else(|(gate, _)| gate, |(gate, _)| gate);
        assert_eq!(gate.block_s, 180);
    }
}
