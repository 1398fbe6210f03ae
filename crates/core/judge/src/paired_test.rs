//! Two statistics of paired rounds under the same sign flips: the sum of the differences, and the sum of the differences of
//! [ranks among neighbours](crate::neighbour_ranks).
//!
//! An outlier run hides a difference from the first, and hardly from the second. Both see the same patterns of signs, and a
//! pattern counts by the smaller of its p-values, so the share of patterns that are as extreme as the observed one is a
//! p-value itself: P(p <= a) <= a, exactly, and equal signs in n rounds still give 2 / 2^n.

use crate::neighbour_ranks;
use crate::sign_flip::{Interval, SignFlip, SignFlipError, TooFewRounds};

/// Paired rounds, and the smaller p-value of each pattern of signs.
#[derive(Debug, Clone, PartialEq)]
pub struct PairedTest {
    pairs: Vec<(f64, f64)>,
    sum: SignFlip,
    /// Of the patterns that keep the sign of the last difference: the others mirror them. The observed one is first.
    smaller: Vec<f64>,
}

impl PairedTest {
    /// Compares the second values with the first.
    ///
    /// # Errors
    /// As [`SignFlip::of`].
    pub fn of(pairs: &[(f64, f64)]) -> Result<Self, SignFlipError> {
        let sum = SignFlip::of(&pairs.iter().map(|(one, other)| other - one).collect::<Vec<_>>())?;
        let ranks = neighbour_ranks::differences(pairs).into_iter().map(f64::from).collect();
        let smaller = smaller(&[sum.differences().to_vec(), ranks])?;
        Ok(Self { pairs: pairs.to_vec(), sum, smaller })
    }

    pub fn mean(&self) -> f64 {
        self.sum.mean()
    }

    pub fn differences(&self) -> &[f64] {
        self.sum.differences()
    }

    /// Two-sided p-value of "the variants do the same".
    pub fn p_value(&self) -> f64 {
        share_as_small(&self.smaller)
    }

    /// Level of each statistic at which both together reject with at most this probability. `None`: the rounds are too
    /// few to reject anything.
    pub fn level_of_each(&self, level: f64) -> Option<f64> {
        let mut sorted = self.smaller.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        let allowed = (level * sorted.len() as f64 + 1e-9) as usize;
        let beyond = sorted.get(allowed).copied().unwrap_or(f64::INFINITY);
        sorted[..allowed.min(sorted.len())].iter().rev().copied().find(|p| *p < beyond)
    }

    /// Interval of the mean difference: the shifts that neither statistic rejects.
    ///
    /// # Errors
    /// [`TooFewRounds`] if even unanimous rounds could not reject anything at this confidence.
    pub fn interval(&self, confidence: f64) -> Result<Interval, TooFewRounds> {
        let widest = self.sum.interval(confidence)?;
        let level_at = |shift: f64| {
            let shifted: Vec<(f64, f64)> = self.pairs.iter().map(|(one, other)| (*one, other - shift)).collect();
            Self::of(&shifted).ok()?.level_of_each(1.0 - confidence)
        };
        let within = |level: f64| {
            let sum = self.sum.interval(1.0 - level).unwrap_or(widest);
            let ranks = neighbour_ranks::interval(&self.pairs, level);
            ranks.map_or((sum.low, sum.high), |(low, high)| (low.max(sum.low), high.min(sum.high)))
        };
        let Some(level) = self.level_of_each(1.0 - confidence) else { return Ok(widest) };
        let (low, high) = within(level);
        // The level at an end may be another one than without a shift.
        let low = level_at(low).filter(|other| *other < level).map_or(low, |other| within(other).0);
        let high = level_at(high).filter(|other| *other < level).map_or(high, |other| within(other).1);
        Ok(if low <= high { Interval { low, high, confidence } } else { widest })
    }
}

/// P-value of several linear statistics of the same coins, each given by its terms: all share one error.
///
/// # Errors
/// As [`SignFlip::of`].
pub fn joint_p_value(statistics: &[Vec<f64>]) -> Result<f64, SignFlipError> {
    Ok(share_as_small(&smaller(statistics)?))
}

/// The smallest p-value of each pattern of signs among the statistics; the observed pattern is first.
fn smaller(statistics: &[Vec<f64>]) -> Result<Vec<f64>, SignFlipError> {
    let mut smaller: Vec<f64> = Vec::new();
    for terms in statistics {
        let tails = tails(&SignFlip::of(terms)?.distances());
        smaller.resize(tails.len(), 1.0);
        smaller.iter_mut().zip(tails).for_each(|(one, other)| *one = one.min(other));
    }
    Ok(smaller)
}

/// Share of the patterns whose p-value is at most the observed one.
fn share_as_small(smaller: &[f64]) -> f64 {
    smaller.iter().filter(|p| **p <= smaller[0]).count() as f64 / smaller.len() as f64
}

/// Share of the distances that are at least as large, of each.
fn tails(distances: &[f64]) -> Vec<f64> {
    let mut sorted = distances.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let rounding = 1e-12 * sorted.last().copied().unwrap_or_default();
    let share = |distance: &f64| {
        let nearer = sorted.partition_point(|other| *other < distance - rounding);
        (sorted.len() - nearer) as f64 / sorted.len() as f64
    };
    distances.iter().map(share).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coin::Coin;

    fn normal(coin: &mut Coin) -> f64 {
        (-2.0 * (1.0 - coin.unit()).ln()).sqrt() * (std::f64::consts::TAU * coin.unit()).cos()
    }

    #[test]
    fn equal_signs_have_the_least_p_value_of_the_sign_flips() {
        for count in [6usize, 9, 12] {
            let pairs: Vec<(f64, f64)> = (1..=count).map(|at| (0.0, at as f64)).collect();
            assert_eq!(PairedTest::of(&pairs).unwrap().p_value(), 2.0 / (count as f64).exp2());
        }
        assert_eq!(PairedTest::of(&[(1.0, 1.0); 8]).unwrap().p_value(), 1.0);
    }

    /// Differences of about 0.2 that scatter by less, and two runs of A four times as late.
    #[test]
    fn ranks_see_what_outliers_hide_from_the_sum() {
        let differences = [0.2, 0.21, 0.18, 0.25, 0.19, 0.22, 0.17, 0.24, 0.16, 0.23, 0.26, 0.21];
        let outlier = |at: usize| if at.is_multiple_of(6) { 1.4 } else { 0.0 };
        let pairs: Vec<(f64, f64)> =
            differences.iter().enumerate().map(|(at, difference)| (outlier(at), *difference)).collect();
        let both = PairedTest::of(&pairs).unwrap();
        assert!(both.p_value() < 0.02 && both.sum.p_value() > 0.5, "{} {}", both.p_value(), both.sum.p_value());
        let interval = both.interval(0.95).unwrap();
        assert!(interval.low > 0.0 && interval.contains(0.2), "{interval:?}");
    }

    /// Both statistics may look, and yet no more than one in twenty series without a difference is called different; the
    /// interval misses no more.
    #[test]
    fn both_statistics_share_one_error() {
        let mut coin = Coin::new(5);
        for (outliers, drift) in [(0.0, 0.0), (0.1, 0.0), (0.0, 1.0)] {
            let (series, mut alarms, mut missed) = (1500, 0, 0);
            for _ in 0..series {
                let run = |place: u32, coin: &mut Coin| {
                    drift * f64::from(place) + normal(coin) * if coin.unit() < outliers { 20.0 } else { 1.0 }
                };
                let equal: Vec<(f64, f64)> = (0..9)
                    .map(|round| {
                        let (first, second) = (run(2 * round, &mut coin), run(2 * round + 1, &mut coin));
                        if coin.next_u64() & 1 == 0 { (first, second) } else { (second, first) }
                    })
                    .collect();
                let shifted: Vec<(f64, f64)> = equal.iter().map(|(one, other)| (*one, other + 3.0)).collect();
                missed += u32::from(!PairedTest::of(&shifted).unwrap().interval(0.95).unwrap().contains(3.0));
                alarms += u32::from(PairedTest::of(&equal).unwrap().p_value() <= 0.05);
            }
            let most = (0.05 + 2.5 * (0.05f64 * 0.95 / f64::from(series)).sqrt()) * f64::from(series);
            assert!(f64::from(alarms) <= most && f64::from(missed) <= most, "{alarms} and {missed} of {series}");
            assert!(alarms > series / 40, "{alarms}: a test that never rejects proves nothing");
        }
    }
}
