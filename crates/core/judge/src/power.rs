//! The smallest change that a test of paired rounds would have found, from the scatter of the rounds.
//!
//! Few rounds estimate their scatter only roughly, so the chance is averaged over the plausible scatters.

use crate::sign_flip::PAIRS_MAX;
use statrs::distribution::{ChiSquared, ContinuousCDF, Normal, StudentsT};

/// Chance of finding the smallest detectable change.
pub const POWER: f64 = 0.8;
/// Number of equally likely scatters to average over.
const SCATTERS: u32 = 40;

/// The mean difference that the sign-flip test would find with [`POWER`] at this two-sided level. `None` if the rounds
/// are too few to find anything at that level.
pub fn detectable(differences: &[f64], level: f64) -> Option<f64> {
    let count = differences.len();
    if !(3..=PAIRS_MAX).contains(&count) {
        return None;
    }
    let mean = differences.iter().sum::<f64>() / count as f64;
    let variance = differences.iter().map(|difference| (difference - mean).powi(2)).sum::<f64>() / (count - 1) as f64;
    Some(in_deviations(count, level)? * variance.sqrt()).filter(|size| size.is_finite())
}

/// The same in observed standard deviations.
fn in_deviations(count: usize, level: f64) -> Option<f64> {
    let patterns = (1u64 << count) as f64;
    // Number of sign patterns on either side that are rare enough.
    let rare = (level * patterns / 2.0 + 1e-9).floor();
    if rare < 1.0 {
        return None;
    }
    let freedom = (count - 1) as f64;
    let chi = ChiSquared::new(freedom).ok()?;
    let scatters: Vec<f64> = (0..SCATTERS)
        .map(|at| (chi.inverse_cdf((f64::from(at) + 0.5) / f64::from(SCATTERS)) / freedom).sqrt())
        .collect();
    let critical = StudentsT::new(0.0, 1.0, freedom).ok()?.inverse_cdf(1.0 - rare / patterns);
    let normal = Normal::standard();
    let chance = |shift: f64| -> f64 {
        if rare < 2.0 {
            // Only equal signs suffice.
            return normal.cdf(shift).powi(count as i32);
        }
        let far = (count as f64).sqrt() * shift;
        scatters.iter().map(|scatter| normal.cdf(far - critical * scatter)).sum::<f64>() / scatters.len() as f64
    };
    let power = |size: f64| scatters.iter().map(|seen| chance(size * seen)).sum::<f64>() / scatters.len() as f64;
    let (mut low, mut high) = (0.0, 100.0);
    for _ in 0..40 {
        let middle = 0.5 * (low + high);
        if power(middle) < POWER { low = middle } else { high = middle }
    }
    Some(high)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coin::Coin;
    use crate::sign_flip::SignFlip;

    fn normal(coin: &mut Coin) -> f64 {
        (-2.0 * (1.0 - coin.unit()).ln()).sqrt() * (std::f64::consts::TAU * coin.unit()).cos()
    }

    /// A change of the size that one series gives is found in series of the same kind.
    #[test]
    fn power_is_as_stated() {
        let mut coin = Coin::new(12);
        for (count, level) in [(6, 0.05), (8, 0.05), (12, 0.04)] {
            let tests = 400;
            let found = (0..tests)
                .filter(|_| {
                    let mut series = |shift: f64| (0..count).map(|_| shift + normal(&mut coin)).collect::<Vec<f64>>();
                    let size = detectable(&series(0.0), level).unwrap();
                    SignFlip::of(&series(size)).unwrap().p_value() <= level
                })
                .count();
            let share = found as f64 / f64::from(tests);
            assert!((0.74..0.86).contains(&share), "{count} rounds: {share}");
        }
    }

    #[test]
    fn so_few_rounds_find_nothing() {
        assert_eq!(detectable(&[0.1, 0.2, 0.1, 0.3, 0.2], 0.05), None);
        assert_eq!(detectable(&[], 0.05), None);
        assert_eq!(detectable(&[0.5; 8], 0.05), Some(0.0));
    }
}
