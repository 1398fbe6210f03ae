//! Three statistics of paired rounds under the same sign flips: the sums of the differences, of their signed ranks and of
//! their signs.
//!
//! An outlier hides a difference from the sum, two of them from the ranks, and neither from the signs. All see the same
//! patterns of signs, and a pattern counts by the smallest of its p-values, so the share of patterns that are as extreme
//! as the observed one is a p-value itself: P(p <= a) <= a, exactly, and equal signs in n rounds still give 2 / 2^n.

use crate::sign_flip::{Interval, SignFlip, SignFlipError, TooFewRounds};
use crate::sign_test;

/// Differences of paired rounds, one each, and the smallest p-value of each pattern of signs.
#[derive(Debug, Clone, PartialEq)]
pub struct PairedTest {
    sum: SignFlip,
    /// Of the patterns that keep the sign of the last difference: the others mirror them. The observed one is first.
    smaller: Vec<f64>,
}

impl PairedTest {
    /// # Errors
    /// As [`SignFlip::of`].
    pub fn of(differences: &[f64]) -> Result<Self, SignFlipError> {
        let smaller = smaller(&statistics(differences))?;
        Ok(Self { sum: SignFlip::of(differences)?, smaller })
    }

    pub fn mean(&self) -> f64 {
        self.sum.mean()
    }

    /// Two-sided p-value of "the variants do the same".
    pub fn p_value(&self) -> f64 {
        share_as_small(&self.smaller)
    }

    /// Level of each statistic at which all together reject with at most this probability. `None`: the rounds are too
    /// few to reject anything.
    pub fn level_of_each(&self, level: f64) -> Option<f64> {
        let mut sorted = self.smaller.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        let allowed = (level * sorted.len() as f64 + 1e-9) as usize;
        let beyond = sorted.get(allowed).copied().unwrap_or(f64::INFINITY);
        sorted[..allowed.min(sorted.len())].iter().rev().copied().find(|p| *p < beyond)
    }

    /// Interval of the mean difference: the shifts that no statistic rejects.
    ///
    /// # Errors
    /// [`TooFewRounds`] if even unanimous rounds could not reject anything at this confidence.
    pub fn interval(&self, confidence: f64) -> Result<Interval, TooFewRounds> {
        let widest = self.sum.interval(confidence)?;
        let level_at = |shift: f64| {
            let shifted: Vec<f64> = self.sum.differences().iter().map(|difference| difference - shift).collect();
            Self::of(&shifted).ok()?.level_of_each(1.0 - confidence)
        };
        let within = |level: f64| {
            let sum = self.sum.interval(1.0 - level).unwrap_or(widest);
            let others =
                [interval_of_ranks(self.sum.differences(), level), interval_of_signs(self.sum.differences(), level)];
            others.iter().fold((sum.low, sum.high), |(low, high), other| (low.max(other.0), high.min(other.1)))
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
    let with_ranks: Vec<Vec<f64>> = statistics.iter().flat_map(|terms| [terms.clone(), signed_ranks(terms)]).collect();
    Ok(share_as_small(&smaller(&with_ranks)?))
}

/// Terms of the statistics of a paired test.
fn statistics(differences: &[f64]) -> [Vec<f64>; 3] {
    let sign = |difference: &f64| if *difference == 0.0 { 0.0 } else { difference.signum() };
    [differences.to_vec(), signed_ranks(differences), differences.iter().map(sign).collect()]
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

/// Ranks of the magnitudes with the signs of the differences; equal magnitudes share the mean of their ranks, and zero
/// has none.
fn signed_ranks(differences: &[f64]) -> Vec<f64> {
    let rank = |difference: &f64| {
        let size = difference.abs();
        let smaller = differences.iter().filter(|other| other.abs() < size).count() as f64;
        let equal = differences.iter().filter(|other| other.abs() == size).count() as f64;
        if size > 0.0 { difference.signum() * (smaller + (equal + 1.0) / 2.0) } else { 0.0 }
    };
    differences.iter().map(rank).collect()
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

/// Shifts that the signed ranks do not reject: means of two differences, without the outermost ones (Tukey 1949).
fn interval_of_ranks(differences: &[f64], level: f64) -> (f64, f64) {
    let pairs = differences
        .iter()
        .enumerate()
        .flat_map(|(at, one)| differences[at..].iter().map(move |other| (one + other) / 2.0));
    let mut means: Vec<f64> = pairs.collect();
    means.sort_unstable_by(f64::total_cmp);
    let rejected = rejected_sums(differences.len(), level).clamp(1, means.len());
    (means[rejected - 1], means[means.len() - rejected])
}

/// Shifts that the signs do not reject: the range of the differences without the outermost ones.
fn interval_of_signs(differences: &[f64], level: f64) -> (f64, f64) {
    let count = differences.len();
    let mut sorted = differences.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let rejected =
        (1..=count.div_ceil(2)).take_while(|fewer| sign_test::p_value(count + 1 - fewer, fewer - 1) <= level + 1e-12);
    let rejected = rejected.count().max(1);
    (sorted[rejected - 1], sorted[count - rejected])
}

/// Number of sums of positive ranks, from 0, that are rejected as too small at this two-sided level.
fn rejected_sums(count: usize, level: f64) -> usize {
    let mut patterns = vec![1.0];
    for rank in 1..=count {
        let mut next = vec![0.0; patterns.len() + rank];
        for (sum, number) in patterns.iter().enumerate() {
            next[sum] += number;
            next[sum + rank] += number;
        }
        patterns = next;
    }
    let allowed = level * (count as f64).exp2() / 2.0 + 1e-9;
    let cumulated = patterns.iter().scan(0.0, |seen, number| {
        *seen += number;
        Some(*seen)
    });
    cumulated.take_while(|seen| *seen <= allowed).count()
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
            let differences: Vec<f64> = (1..=count).map(|at| at as f64).collect();
            let test = PairedTest::of(&differences).unwrap();
            assert_eq!(test.p_value(), SignFlip::of(&differences).unwrap().p_value_least());
        }
        assert_eq!(PairedTest::of(&[0.0; 8]).unwrap().p_value(), 1.0);
    }

    #[test]
    fn ranks_see_what_an_outlier_hides_from_the_sum() {
        let mut differences = [0.2, 0.21, 0.18, 0.25, 0.19, 0.22, 0.17, 0.24, 0.16, 0.23, 0.26, -2.0];
        let (both, sum) = (PairedTest::of(&differences).unwrap(), SignFlip::of(&differences).unwrap());
        assert!(both.p_value() < 0.05 && sum.p_value() > 0.5, "{} {}", both.p_value(), sum.p_value());
        let interval = both.interval(0.95).unwrap();
        assert!(interval.low > 0.0 && interval.contains(0.2), "{interval:?}");
        differences[11] = 0.2;
        assert!(PairedTest::of(&differences).unwrap().interval(0.95).unwrap().contains(0.2));
    }

    #[test]
    fn the_sums_of_ranks_that_are_too_small_are_those_of_the_tables() {
        // Wilcoxon 1945: at 5 %, two-sided, sums up to 0, 8 and 13 are rejected for 6, 10 and 12 pairs.
        assert_eq!([6, 10, 12].map(|count| rejected_sums(count, 0.05)), [1, 9, 14]);
    }

    /// Each statistic may look, and yet no more than one in twenty series without a difference is called different; the
    /// interval misses no more.
    #[test]
    fn all_statistics_share_one_error() {
        let mut coin = Coin::new(5);
        for outliers in [0.0, 0.1] {
            let (series, mut alarms, mut missed) = (1500, 0, 0);
            for _ in 0..series {
                let one = |coin: &mut Coin| normal(coin) * if coin.unit() < outliers { 20.0 } else { 1.0 };
                let differences: Vec<f64> = (0..9).map(|_| 3.0 + one(&mut coin)).collect();
                missed += u32::from(!PairedTest::of(&differences).unwrap().interval(0.95).unwrap().contains(3.0));
                let centred: Vec<f64> = differences.iter().map(|difference| difference - 3.0).collect();
                alarms += u32::from(PairedTest::of(&centred).unwrap().p_value() <= 0.05);
            }
            let most = (0.05 + 2.5 * (0.05f64 * 0.95 / f64::from(series)).sqrt()) * f64::from(series);
            assert!(f64::from(alarms) <= most && f64::from(missed) <= most, "{alarms} and {missed} of {series}");
            assert!(alarms > series / 40, "{alarms}: a test that never rejects proves nothing");
        }
    }
}
