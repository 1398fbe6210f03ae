//! Whether a run of one variant changes the next run, or a variant depends on its place in the round.
//!
//! The sign-flip test takes each run as it would be in either order. If runs after a run of B are later than runs after a
//! run of A, an equal A looks worse or better. The order is the coin's, so the sum of both runs of a round must not
//! depend on it. Its correlations with the order, and with the number of runs that follow a run of B, are linear in the
//! coin, and the sign-flip test of their terms is exact.

use super::round::logarithms;
use super::{Metric, PairedRound, Scale};
use crate::paired_test::joint_p_value;
use serde::{Deserialize, Serialize};
use words::amounts::{change, p_value};

/// How runs that follow a run of B differ from runs that follow a run of A.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CarryOver {
    /// By this factor.
    pub ratio: f64,
    /// Two-sided and exact.
    pub p_value: f64,
    pub differs: bool,
    pub sentence: String,
}

impl CarryOver {
    /// `None` for counts, and where a round lacks the figure or the order is not known.
    pub fn of(rounds: &[PairedRound], metric: &Metric, risk: f64) -> Option<Self> {
        let sums: Vec<f64> = logarithms(rounds, metric)?.into_iter().map(|(a, b)| a + b).collect();
        let of_round = |round: &PairedRound| Some(if round.b_first? { 1.0 } else { -1.0 });
        let coin: Vec<f64> = rounds.iter().map(of_round).collect::<Option<_>>()?;
        let (terms, follows) = (terms(&sums), follows(&coin));
        let flipped: Vec<f64> = terms.iter().zip(&coin).map(|(term, coin)| term * coin).collect();
        let mean = sums.iter().sum::<f64>() / sums.len().max(1) as f64;
        let by_place = sums.iter().zip(&coin).map(|(sum, coin)| (sum - mean) * coin).collect();
        let p = joint_p_value(&[flipped.clone(), by_place]).ok()?;
        let slope = flipped.iter().sum::<f64>() / follows.iter().map(|value| value * value).sum::<f64>();
        let ratio = slope.exp();
        let sentence = format!(
            "Runs after a run of B have a {} of {} against runs after a run of A ({}): a run changes the next one, or B \
             depends on its place in the round, so no difference between A and B follows. Let the machine settle before each \
             run, such as `--a-before 'sleep 60' --b-before 'sleep 60'`.",
            metric.name,
            change(ratio),
            p_value(p)
        );
        (metric.scale == Scale::Ratio && slope.is_finite()).then_some(Self {
            ratio,
            p_value: p,
            differs: p <= risk,
            sentence,
        })
    }
}

/// Factors of the coins in the sum of products of the sums with [`follows`].
fn terms(sums: &[f64]) -> Vec<f64> {
    let mean = sums.iter().sum::<f64>() / sums.len().max(1) as f64;
    let next = sums.iter().skip(1).map(|sum| sum - mean).chain([0.0]);
    sums.iter().zip(next).map(|(sum, next)| (sum - mean - next) / 2.0).collect()
}

/// Runs of a round that follow a run of B, less one: the second run of the round, and the first after the round before.
fn follows(coin: &[f64]) -> Vec<f64> {
    let before = std::iter::once(0.0).chain(coin.iter().copied());
    coin.iter().zip(before).map(|(coin, before)| (coin - before) / 2.0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_terms_are_the_products_of_sums_and_followers() {
        let (sums, coin) = ([3.0, 1.0, 4.0, 1.5], [1.0, -1.0, -1.0, 1.0]);
        let mean = sums.iter().sum::<f64>() / 4.0;
        let products: f64 = sums.iter().zip(follows(&coin)).map(|(sum, follows)| (sum - mean) * follows).sum();
        let by_coin: f64 = terms(&sums).iter().zip(coin).map(|(term, coin)| term * coin).sum();
        assert!((products - by_coin).abs() < 1e-12, "{products} {by_coin}");
        assert_eq!(follows(&[1.0, 1.0, -1.0]), [0.5, 0.0, -1.0]);
    }
}
