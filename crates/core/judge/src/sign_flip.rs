//! The exact sign-flip test of paired rounds, and the interval obtained by inverting it.
//!
//! In each round a coin decides the order of two variants. If they do the same, exchanging their names in a round only
//! flips the sign of its difference, so all sign patterns are equally likely for any distribution, drift or memory of
//! the machine. The p-value is the share of patterns whose sum is at least as far from zero as the observed sum: P(p <=
//! a) <= a, exactly.
//!
//! The interval holds all shifts that the test does not reject. Its ends are means of subsets of the differences
//! (Hartigan 1969), so it is found by sorting all subset means.

pub use claims::interval::Interval;
use thiserror::Error;

/// Most pairs to enumerate: 2^20 patterns take milliseconds and a few MB.
pub const PAIRS_MAX: usize = 20;

/// Sums that differ by less than this share of the sum of all magnitudes count as equal.
const ROUNDING: f64 = 1e-12;

/// Why there is no test.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum SignFlipError {
    #[error("failed to compare: there is no complete round; run at least one")]
    Empty,
    #[error("failed to compare {0} rounds: the exact test enumerates at most {PAIRS_MAX}; use fewer and longer ones")]
    TooMany(usize),
    #[error("failed to compare: a difference is not a number; leave out the round it comes from")]
    NotFinite,
}

/// The rounds are too few for an interval of the requested confidence.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TooFewRounds {
    /// Highest confidence that this number of rounds allows, in 0 .. 1.
    pub confidence_max: f64,
    /// Rounds needed for the requested confidence.
    pub rounds_needed: usize,
}

/// Differences of paired rounds, one each.
#[derive(Debug, Clone, PartialEq)]
pub struct SignFlip {
    differences: Vec<f64>,
}

impl SignFlip {
    /// # Errors
    /// [`SignFlipError`] if there are no values, too many, or one that is not a number.
    pub fn of(differences: &[f64]) -> Result<Self, SignFlipError> {
        match differences.len() {
            0 => return Err(SignFlipError::Empty),
            count if count > PAIRS_MAX => return Err(SignFlipError::TooMany(count)),
            _ => {}
        }
        if differences.iter().any(|difference| !difference.is_finite()) {
            return Err(SignFlipError::NotFinite);
        }
        Ok(Self { differences: differences.to_vec() })
    }

    pub fn mean(&self) -> f64 {
        self.differences.iter().sum::<f64>() / self.differences.len() as f64
    }

    pub fn differences(&self) -> &[f64] {
        &self.differences
    }

    /// Magnitudes of the sums of all patterns that keep the last sign; the observed one is first.
    pub fn distances(&self) -> Vec<f64> {
        let total: f64 = self.differences.iter().sum();
        let mut subsets = self.subset_sums();
        subsets.truncate(1 << (self.differences.len() - 1));
        subsets.iter().map(|subset| (total - 2.0 * subset).abs()).collect()
    }

    /// Two-sided p-value of "the variants do the same".
    pub fn p_value(&self) -> f64 {
        let total: f64 = self.differences.iter().sum();
        let rounding = ROUNDING * self.differences.iter().map(|difference| difference.abs()).sum::<f64>();
        // Flipping a subset subtracts twice its sum from the total.
        let as_far =
            self.subset_sums().iter().filter(|subset| (total - 2.0 * **subset).abs() >= total.abs() - rounding).count();
        as_far as f64 / self.patterns()
    }

    /// The smallest p-value that this number of rounds can give, 2^-(n-1).
    pub fn p_value_least(&self) -> f64 {
        2.0 / self.patterns()
    }

    /// Interval of the mean difference.
    ///
    /// # Errors
    /// [`TooFewRounds`] if even unanimous rounds could not reject anything at this confidence.
    pub fn interval(&self, confidence: f64) -> Result<Interval, TooFewRounds> {
        let allowed = ((1.0 - confidence) * self.patterns() / 2.0 + 1e-9).floor() as usize;
        if allowed == 0 {
            let rounds_needed = (1.0 - (1.0 - confidence).log2() - 1e-9).ceil() as usize;
            return Err(TooFewRounds { confidence_max: 1.0 - self.p_value_least(), rounds_needed });
        }
        let mut means: Vec<f64> =
            self.subset_sums().iter().enumerate().skip(1).map(|(set, sum)| sum / f64::from(set.count_ones())).collect();
        let last = means.len() - 1;
        // One subset mean is the median of all; if more than half are allowed, both ends meet there.
        let allowed = allowed.min(means.len().div_ceil(2));
        let (_, low, _) = means.select_nth_unstable_by(allowed - 1, f64::total_cmp);
        let low = *low;
        let (_, high, _) = means.select_nth_unstable_by(last + 1 - allowed, f64::total_cmp);
        Ok(Interval { low, high: *high, confidence })
    }

    fn patterns(&self) -> f64 {
        (1u64 << self.differences.len()) as f64
    }

    /// Sum of each subset; bit i of the index is set if difference i is in it.
    fn subset_sums(&self) -> Vec<f64> {
        let mut sums = vec![0.0; 1 << self.differences.len()];
        for set in 1..sums.len() {
            sums[set] = sums[set & (set - 1)] + self.differences[set.trailing_zeros() as usize];
        }
        sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coin::Coin;
    use proptest::prelude::*;

    const DIFFERENCES: [f64; 10] = [0.112, 0.087, 0.154, -0.021, 0.098, 0.131, 0.060, 0.045, 0.173, 0.009];

    #[test]
    fn the_published_vector_holds() {
        let test = SignFlip::of(&DIFFERENCES).unwrap();
        assert_eq!(test.p_value(), 6.0 / 1024.0);
        let interval = test.interval(0.95).unwrap();
        assert!((interval.low - 0.0385).abs() < 1e-12 && (interval.high - 0.13).abs() < 1e-12, "{interval:?}");
        assert!((test.mean() - 0.0848).abs() < 1e-12);
    }

    #[test]
    fn few_rounds_say_how_much_they_allow() {
        let five = SignFlip::of(&[1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
        assert_eq!(five.p_value(), five.p_value_least());
        assert_eq!(five.p_value_least(), 0.0625);
        assert_eq!(five.interval(0.95), Err(TooFewRounds { confidence_max: 0.9375, rounds_needed: 6 }));
        assert_eq!(five.interval(0.9375).unwrap(), Interval { low: 1.0, high: 5.0, confidence: 0.9375 });
        let six = SignFlip::of(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
        assert_eq!(six.interval(0.95).unwrap(), Interval { low: 1.0, high: 6.0, confidence: 0.95 });
        assert_eq!(SignFlip::of(&[1.0]).unwrap().interval(0.99).unwrap_err().rounds_needed, 8);
    }

    #[test]
    fn unpaired_figures_are_refused() {
        assert_eq!(SignFlip::of(&[]), Err(SignFlipError::Empty));
        assert_eq!(SignFlip::of(&[0.0; 21]), Err(SignFlipError::TooMany(21)));
        assert_eq!(SignFlip::of(&[1.0, f64::INFINITY]), Err(SignFlipError::NotFinite));
    }

    #[test]
    fn no_difference_at_all_is_no_difference() {
        let none = SignFlip::of(&[0.0; 8]).unwrap();
        assert_eq!((none.p_value(), none.mean()), (1.0, 0.0));
        assert_eq!(none.interval(0.95).unwrap(), Interval { low: 0.0, high: 0.0, confidence: 0.95 });
    }

    /// Rounds that drift and have heavy tails: of 1000 series of 8, at most 5 % may be reported as different.
    #[test]
    fn false_alarms_stay_below_what_is_promised() {
        let mut coin = Coin::new(20_261_122);
        let (mut alarms, mut missed) = (0, 0);
        let series = 1000;
        for _ in 0..series {
            let differences: Vec<f64> = (0..8)
                .map(|round| {
                    let run = |position: f64, coin: &mut Coin| 0.05 * position + (1.0 - coin.unit()).powi(-2).min(1e6);
                    let (first, second) =
                        (run(f64::from(round) * 2.0, &mut coin), run(f64::from(round) * 2.0 + 1.0, &mut coin));
                    if coin.next_u64() & 1 == 0 { second - first } else { first - second }
                })
                .collect();
            let test = SignFlip::of(&differences).unwrap();
            alarms += u32::from(test.p_value() <= 0.05);
            missed += u32::from(!test.interval(0.95).unwrap().contains(0.0));
        }
        // Nominal 5 % and two and a half standard errors.
        let most = (0.05 + 2.5 * (0.05f64 * 0.95 / f64::from(series)).sqrt()) * f64::from(series);
        assert!(f64::from(alarms) <= most && f64::from(missed) <= most, "{alarms} and {missed} of {series}");
        assert!(alarms > 0, "a test that never rejects proves nothing");
    }

    proptest! {
        #[test]
        fn interval_and_test_agree(
            differences in proptest::collection::vec(-100i32..100, 1..10),
            shift in -120i32..120,
        ) {
            let values: Vec<f64> = differences.iter().map(|value| f64::from(*value)).collect();
            let shift = f64::from(shift) + 0.25;
            let shifted: Vec<f64> = values.iter().map(|value| value - shift).collect();
            let p = SignFlip::of(&shifted).unwrap().p_value();
            match SignFlip::of(&values).unwrap().interval(0.9) {
                Ok(interval) => prop_assert_eq!(interval.contains(shift), p > 0.1 + 1e-9, "{:?} {} {}", interval, shift, p),
                Err(_) => prop_assert!(p > 0.1),
            }
        }
    }
}
