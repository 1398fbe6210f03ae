//! A figure of paired rounds, tested by the coin or by evidence after every round.

use crate::e_process;
use crate::paired_test::PairedTest;
use crate::power::detectable;
use crate::sign_flip::Interval;

/// All on the scale of the differences.
pub struct Tested {
    /// The mean difference, or the end of the interval next to it: outlier runs may pull the mean out of the interval.
    pub estimate: f64,
    pub p_value: f64,
    pub interval: Option<Interval>,
    /// The difference that would have been found with 80 % probability.
    pub detectable: Option<f64>,
}

impl Tested {
    /// By the sign-flip test, with `level` as the figure's part of the error. `None` if the rounds cannot be compared.
    pub fn by_coin(pairs: &[(f64, f64)], confidence: f64, level: f64) -> Option<Self> {
        let test = PairedTest::of(pairs).ok()?;
        let of_sums = test.level_of_each(level);
        let interval = test.interval(confidence).ok();
        Some(Self {
            estimate: estimate(test.mean(), interval),
            p_value: test.p_value(),
            interval,
            detectable: of_sums.and_then(|level| detectable(test.differences(), level)),
        })
    }

    /// Whether the interval has a difference of this sign.
    pub fn agrees_with(&self, difference: f64) -> bool {
        self.interval.is_none_or(|interval| {
            if difference > 0.0 { interval.high > 0.0 } else { interval.low < 0.0 || difference == 0.0 }
        })
    }

    /// By evidence after every round. Its power depends on when it stops, so no detectable difference is stated.
    pub fn by_evidence(differences: &[f64], confidence: f64) -> Self {
        let mean = differences.iter().sum::<f64>() / differences.len().max(1) as f64;
        let interval = e_process::interval(differences, confidence);
        Self {
            estimate: estimate(mean, interval),
            p_value: e_process::p_value(differences),
            interval,
            detectable: None,
        }
    }
}

fn estimate(mean: f64, interval: Option<Interval>) -> f64 {
    interval.map_or(mean, |interval| mean.clamp(interval.low, interval.high))
}
