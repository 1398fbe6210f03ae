//! Whether a run of one variant changes the next run, or a variant depends on its place in the round.
//!
//! The sign-flip test takes each run as it would be in either order. If runs after a run of B are later than runs after a
//! run of A, an equal A looks worse or better. The order is the coin's, so the sum of both runs of a round must not
//! depend on it. Its correlations with the order, and with the number of runs that follow a run of B, are linear in the
//! coin, and the sign-flip test of their terms is exact.

use super::round::scaled;
use super::{Metric, PairedRound, Scale};
use crate::median::median;
use crate::paired_test::{PairedTest, joint_p_value};
use claims::experiment::CarryOver;

/// An effect of the order with a larger p-value is not even a hint.
const HINT: f64 = 0.5;
/// An outlier is further from the median than this multiple of the median deviation.
const FAR: f64 = 4.0;

/// `None` for counts, and where a round lacks the figure or the order is not known.
pub fn carry_over(rounds: &[PairedRound], metric: &Metric, risk: f64) -> Option<CarryOver> {
    let order = Order::of(rounds, metric)?;
    let p = order.p_value()?;
    let ratio = order.after_b().exp();
    let mut effect = CarryOver { ratio, p_value: p, differs: p <= risk, sentence: String::new() };
    effect.sentence = words::claims::experiment::carry_over(&effect, &metric.name);
    ratio.is_finite().then_some(effect)
}

/// Whether the order may explain a difference that a figure shows: it has an effect, or a hint of one, and without the
/// effect the figure shows nothing.
/// `correction` is the factor of its p-value for the other figures.
pub fn may_explain(effect: &CarryOver, rounds: &[PairedRound], metric: &Metric, correction: f64, risk: f64) -> bool {
    if effect.differs || effect.p_value > HINT {
        return effect.differs;
    }
    let shown = |rounds: &Vec<(f64, f64)>| PairedTest::of(rounds).is_ok_and(|test| test.p_value() * correction <= risk);
    Order::of(rounds, metric).is_some_and(|order| !order.rounds_without_it().iter().all(shown))
}

/// A figure in the order of its runs, as logarithms.
struct Order {
    /// 1 where B is first, otherwise -1.
    coin: Vec<f64>,
    a_and_b: Vec<(f64, f64)>,
    /// Of both runs of a round, less the mean.
    sums: Vec<f64>,
}

impl Order {
    fn of(rounds: &[PairedRound], metric: &Metric) -> Option<Self> {
        if metric.scale != Scale::Ratio || rounds.is_empty() {
            return None;
        }
        let of_round = |round: &PairedRound| Some(if round.b_first? { 1.0 } else { -1.0 });
        let coin = rounds.iter().map(of_round).collect::<Option<Vec<f64>>>()?;
        let a_and_b = scaled(rounds, metric)?;
        let sums = without_outliers(a_and_b.iter().map(|(a, b)| a + b).collect());
        Some(Self { coin, a_and_b, sums })
    }

    /// Of "neither the run before nor the place matters more for one variant": exact.
    fn p_value(&self) -> Option<f64> {
        let flipped = |terms: &[f64]| terms.iter().zip(&self.coin).map(|(term, coin)| term * coin).collect();
        let (before, place): (Vec<f64>, Vec<f64>) = (flipped(&terms(&self.sums)), flipped(&self.sums));
        joint_p_value(&[signed_ranks(&before), signed_ranks(&place), before, place]).ok()
    }

    /// Logarithm of the effect of a run of B on the next run, against one of A.
    fn after_b(&self) -> f64 {
        let follows = follows(&self.coin);
        let products: f64 = self.sums.iter().zip(&follows).map(|(sum, follows)| sum * follows).sum();
        products / follows.iter().map(|value| value * value).sum::<f64>()
    }

    /// Logarithm of the effect of the second place on B, against A.
    fn second_place(&self) -> f64 {
        let of = |side: f64| {
            let sums: Vec<f64> =
                self.sums.iter().zip(&self.coin).filter(|(_, coin)| **coin == side).map(|(sum, _)| *sum).collect();
            sums.iter().sum::<f64>() / sums.len().max(1) as f64
        };
        of(-1.0) - of(1.0)
    }

    /// The rounds less what the run before, or else the place, explains.
    fn rounds_without_it(&self) -> [Vec<(f64, f64)>; 2] {
        let (after_b, second_place) = (self.after_b(), self.second_place());
        let before = std::iter::once(0.0).chain(self.coin.iter().copied());
        let after = self.coin.iter().zip(before).zip(&self.a_and_b).map(|((coin, before), (a, b))| {
            let first = after_b * (1.0 - before) / 2.0;
            if *coin > 0.0 { (a - after_b, b - first) } else { (a - first, *b) }
        });
        let by_place = self.a_and_b.iter().map(|(a, b)| (*a, b - second_place / 2.0));
        [after.collect(), by_place.collect()]
    }
}

/// Values less their mean, none further from the median than `FAR` median deviations: outlier runs must not hide the effect.
fn without_outliers(values: Vec<f64>) -> Vec<f64> {
    let middle = median(&values);
    let most = FAR * median(&values.iter().map(|value| (value - middle).abs()).collect::<Vec<_>>());
    // Equal values have no deviation, while their mean may differ from them by a rounding error, which has a sign.
    let near: Vec<f64> = values.iter().map(|value| (value - middle).clamp(-most, most)).collect();
    let mean = near.iter().sum::<f64>() / near.len().max(1) as f64;
    near.into_iter().map(|value| value - mean).collect()
}

/// Factors of the coins in the sum of products of the sums with [`follows`].
fn terms(sums: &[f64]) -> Vec<f64> {
    let next = sums.iter().skip(1).copied().chain([0.0]);
    sums.iter().zip(next).map(|(sum, next)| (sum - next) / 2.0).collect()
}

/// Ranks of the magnitudes with the signs of the terms; equal magnitudes share the mean of their ranks, and zero has none.
fn signed_ranks(terms: &[f64]) -> Vec<f64> {
    let rank = |term: &f64| {
        let size = term.abs();
        let smaller = terms.iter().filter(|other| other.abs() < size).count() as f64;
        let equal = terms.iter().filter(|other| other.abs() == size).count() as f64;
        if size > 0.0 { term.signum() * (smaller + (equal + 1.0) / 2.0) } else { 0.0 }
    };
    terms.iter().map(rank).collect()
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
    fn equal_rounds_show_no_effect_of_the_order() {
        for value in [800.0_f64, 1e-7, 3.0, 12_345.678] {
            let sums = without_outliers(vec![2.0 * value.ln(); 10]);
            assert!(sums.iter().all(|sum| *sum == 0.0), "{sums:?}");
        }
    }

    #[test]
    fn the_terms_are_the_products_of_sums_and_followers() {
        let (sums, coin) = ([3.0, 1.0, 4.0, 1.5], [1.0, -1.0, -1.0, 1.0]);
        let products: f64 = sums.iter().zip(follows(&coin)).map(|(sum, follows)| sum * follows).sum();
        let by_coin: f64 = terms(&sums).iter().zip(coin).map(|(term, coin)| term * coin).sum();
        assert!((products - by_coin).abs() < 1e-12, "{products} {by_coin}");
        assert_eq!(follows(&[1.0, 1.0, -1.0]), [0.5, 0.0, -1.0]);
    }
}
