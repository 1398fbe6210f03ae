//! Peaks over a threshold: the generalised Pareto distribution of their excesses, by maximum likelihood (Grimshaw
//! 1993), and its levels beyond the data.

use super::{Profile, likelihood_drop};
use crate::optimum::{falls_below, largest_on};
use serde::{Deserialize, Serialize};

/// Range of shapes; below -1 there is no maximum likelihood.
const XI: (f64, f64) = (-0.999, 4.0);
/// Closer to zero the shape counts as exponential.
const XI_ZERO: f64 = 1e-9;
/// A level this many times the estimate counts as no bound.
const LEVEL_FACTOR_MAX: f64 = 1e5;

/// Generalised Pareto distribution of excesses over a threshold.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ParetoFit {
    /// Scale, in the unit of the excesses.
    pub sigma: f64,
    /// Shape: below 0 the tail ends, above 0 it is heavier than exponential.
    pub xi: f64,
    pub log_likelihood: f64,
}

/// Fits excesses over a threshold, all above 0. `None` for fewer than 10, if all are equal, or if the likelihood has no
/// maximum.
pub fn fit(excesses: &[f64]) -> Option<ParetoFit> {
    let largest = excesses.iter().copied().fold(0.0, f64::max);
    let smallest = excesses.iter().copied().fold(f64::INFINITY, f64::min);
    let sound = excesses.iter().all(|excess| excess.is_finite() && *excess > 0.0);
    if excesses.len() < 10 || !sound || smallest == largest {
        return None;
    }
    let count = excesses.len() as f64;
    let mean = excesses.iter().sum::<f64>() / count;
    // With theta = xi / sigma the best xi is known, and one variable is left.
    let xi = |theta: f64| excesses.iter().map(|excess| (theta * excess).ln_1p()).sum::<f64>() / count;
    let likelihood = |theta: f64| {
        let xi = xi(theta);
        if xi <= XI.0 || theta == 0.0 { f64::NAN } else { -count * (xi / theta).ln() - count * xi - count }
    };
    let (theta, log_likelihood) = largest_on(&thetas(excesses)?, &likelihood)?;
    let xi = xi(theta);
    if xi.abs() < 1e-7 {
        return Some(ParetoFit { sigma: mean, xi: 0.0, log_likelihood: log_likelihood_of(excesses, mean, 0.0) });
    }
    Some(ParetoFit { sigma: xi / theta, xi, log_likelihood })
}

/// Values of xi / sigma to try, ascending; `None` without excesses.
fn thetas(excesses: &[f64]) -> Option<Vec<f64>> {
    let largest = excesses.iter().copied().max_by(f64::total_cmp)?;
    let mean = excesses.iter().sum::<f64>() / excesses.len() as f64;
    let steps = |number: u32| 10f64.powf(-8.0 + 10.5 * f64::from(number) / 120.0);
    let negative = (0..=120).map(|number| -(1.0 - steps(number).min(1.0)) / largest).filter(|theta| *theta < 0.0);
    let positive = (0..=120).map(|number| steps(number) / mean);
    let mut grid: Vec<f64> = negative.chain((0..=120).map(|number| -steps(number) / largest)).chain(positive).collect();
    grid.retain(|theta| *theta * largest > -1.0);
    grid.sort_by(f64::total_cmp);
    Some(grid)
}

fn log_likelihood_of(excesses: &[f64], sigma: f64, xi: f64) -> f64 {
    if sigma.is_nan() || sigma <= 0.0 {
        return f64::NEG_INFINITY;
    }
    let count = excesses.len() as f64;
    if xi.abs() < XI_ZERO {
        return -count * sigma.ln() - excesses.iter().sum::<f64>() / sigma;
    }
    let mut logarithms = 0.0;
    for excess in excesses {
        let inside = xi * excess / sigma;
        if inside <= -1.0 {
            return f64::NEG_INFINITY;
        }
        logarithms += inside.ln_1p();
    }
    -count * sigma.ln() - (1.0 + 1.0 / xi) * logarithms
}

/// Shapes to try, ascending.
fn shapes() -> Vec<f64> {
    (0..=40).map(|step| XI.0 + (2.0 - XI.0) * f64::from(step) / 40.0).collect()
}

impl ParetoFit {
    /// Interval of the shape by profile likelihood.
    pub fn shape(&self, excesses: &[f64], confidence: f64) -> Option<Profile> {
        let level = self.log_likelihood - likelihood_drop(confidence)?;
        let sigmas: Vec<f64> = (0..=60).map(|step| self.sigma * 10f64.powf(-1.5 + f64::from(step) / 20.0)).collect();
        let profile = |xi: f64| {
            let best = largest_on(&sigmas, &|sigma| log_likelihood_of(excesses, sigma, xi));
            best.map_or(f64::NEG_INFINITY, |(_, value)| value)
        };
        Some(Profile {
            value: self.xi,
            low: falls_below(self.xi, -0.05, XI.0, level, &profile),
            high: falls_below(self.xi, 0.05, XI.1, level, &profile),
        })
    }

    /// The excess that one of `peaks` peaks exceeds on average.
    pub fn excess(&self, peaks: f64) -> f64 {
        self.sigma * growth(self.xi, peaks)
    }

    /// Interval of that excess by profile likelihood; without an upper end if the data give none.
    pub fn excess_interval(&self, excesses: &[f64], peaks: f64, confidence: f64) -> Option<Profile> {
        let value = self.excess(peaks);
        if !value.is_finite() || value <= 0.0 || peaks <= 1.0 {
            return None;
        }
        let level = self.log_likelihood - likelihood_drop(confidence)?;
        let grid = shapes();
        let profile = |excess: f64| {
            let likelihood = |xi: f64| log_likelihood_of(excesses, excess / growth(xi, peaks), xi);
            largest_on(&grid, &likelihood).map_or(f64::NEG_INFINITY, |(_, value)| value)
        };
        Some(Profile {
            value,
            low: falls_below(value, -0.02 * value, 1e-6 * value, level, &profile),
            high: falls_below(value, 0.05 * value, LEVEL_FACTOR_MAX * value, level, &profile),
        })
    }

    /// Anderson-Darling distance between the excesses and the fit.
    pub fn distance(&self, excesses: &[f64]) -> f64 {
        let mut sorted = excesses.to_vec();
        sorted.sort_by(f64::total_cmp);
        let survival: Vec<f64> = sorted.iter().map(|excess| self.log_survival(*excess)).collect();
        let count = sorted.len();
        let terms = (0..count).map(|at| {
            let below = (-survival[at].exp()).ln_1p();
            (2 * at + 1) as f64 * (below + survival[count - 1 - at])
        });
        -(count as f64) - terms.sum::<f64>() / count as f64
    }

    fn log_survival(&self, excess: f64) -> f64 {
        if self.xi.abs() < XI_ZERO {
            return -excess / self.sigma;
        }
        -(self.xi * excess / self.sigma).max(-1.0 + f64::EPSILON).ln_1p() / self.xi
    }
}

/// ((peaks)^xi - 1) / xi, which is ln(peaks) for xi = 0.
fn growth(xi: f64, peaks: f64) -> f64 {
    if xi.abs() < XI_ZERO { peaks.ln() } else { (xi * peaks.ln()).exp_m1() / xi }
}

/// Probability of a distance at least this large, if the excesses follow a generalised Pareto distribution with two
/// fitted parameters. Interpolated in shape and in the logarithm of the probability from simulated quantiles (20 000
/// samples of 300 for each shape); never above 0.5.
pub fn distance_p_value(distance: f64, xi: f64) -> f64 {
    const PROBABILITIES: [f64; 8] = [0.5, 0.25, 0.1, 0.05, 0.025, 0.01, 0.005, 0.001];
    const QUANTILES: [(f64, [f64; 8]); 9] = [
        (-0.5, [0.4568, 0.6645, 0.9477, 1.1775, 1.4093, 1.7428, 1.9893, 2.5839]),
        (-0.3, [0.4281, 0.6205, 0.8828, 1.0867, 1.3048, 1.6064, 1.8108, 2.3454]),
        (-0.2, [0.4168, 0.5991, 0.8415, 1.0343, 1.2357, 1.4851, 1.6966, 2.1285]),
        (-0.1, [0.4067, 0.5889, 0.8378, 1.0230, 1.2144, 1.5152, 1.7683, 2.2833]),
        (0.0, [0.3940, 0.5644, 0.7867, 0.9685, 1.1581, 1.4140, 1.6225, 2.0552]),
        (0.1, [0.3830, 0.5450, 0.7598, 0.9288, 1.0847, 1.3393, 1.5210, 1.8625]),
        (0.2, [0.3766, 0.5368, 0.7508, 0.9147, 1.0827, 1.2969, 1.4740, 1.9037]),
        (0.3, [0.3721, 0.5241, 0.7235, 0.8795, 1.0344, 1.2347, 1.3931, 1.7612]),
        (0.5, [0.3548, 0.5017, 0.6864, 0.8295, 0.9759, 1.1729, 1.3199, 1.6941]),
    ];
    let xi = xi.clamp(-0.5, 0.5);
    let pair = QUANTILES.windows(2).find(|pair| xi <= pair[1].0).unwrap_or(&QUANTILES[7..9]);
    let share = (xi - pair[0].0) / (pair[1].0 - pair[0].0);
    let mut quantiles = [0.0; 8];
    for (at, quantile) in quantiles.iter_mut().enumerate() {
        *quantile = pair[0].1[at] + share * (pair[1].1[at] - pair[0].1[at]);
    }
    if distance.is_nan() {
        return 0.0;
    }
    if distance <= quantiles[0] {
        return PROBABILITIES[0];
    }
    let at = quantiles.windows(2).position(|pair| distance <= pair[1]).unwrap_or(6);
    let share = (distance - quantiles[at]) / (quantiles[at + 1] - quantiles[at]);
    let (from, to) = (PROBABILITIES[at].ln(), PROBABILITIES[at + 1].ln());
    (from + share * (to - from)).exp()
}

#[cfg(test)]
mod tests {
    use super::super::published::DANISH_FIRES_OVER_10;
    use super::*;
    use crate::coin::Coin;
    use proptest::prelude::*;

    fn over(threshold: f64) -> Vec<f64> {
        DANISH_FIRES_OVER_10.iter().filter(|claim| **claim > threshold).map(|claim| claim - threshold).collect()
    }

    #[track_caller]
    fn near(value: f64, expected: f64, within: f64) {
        assert!((value - expected).abs() <= within, "{value} is not {expected}");
    }

    fn ends(profile: Profile) -> (f64, f64) {
        (profile.low.unwrap(), profile.high.unwrap())
    }

    #[test]
    fn the_fires_over_ten_million_are_those_of_the_reference() {
        let excesses = over(10.0);
        let fit = fit(&excesses).unwrap();
        assert_eq!(excesses.len(), 109);
        near(fit.sigma, 6.975468, 1e-6);
        near(fit.xi, 0.496986, 1e-6);
        near(-fit.log_likelihood, 374.892990, 2e-6);
        near(fit.distance(&excesses), 0.266292, 1e-6);
        let (low, high) = ends(fit.shape(&excesses, 0.95).unwrap());
        near(low, 0.27453, 1e-5);
        near(high, 0.81889, 1e-5);
        for (claims, level, low, high) in
            [(1000.0, 94.339358, 63.1692, 189.0977), (10_000.0, 304.901623, 139.8338, 1206.7542)]
        {
            let profile = fit.excess_interval(&excesses, claims * 109.0 / 2167.0, 0.95).unwrap();
            near(10.0 + profile.value, level, 2e-6 * level);
            near(10.0 + profile.low.unwrap(), low, 1e-4);
            near(10.0 + profile.high.unwrap(), high, 1e-4_f64.max(2e-7 * high));
        }
    }

    #[test]
    fn the_fires_over_twenty_million_are_those_of_the_reference() {
        let excesses = over(20.0);
        let fit = fit(&excesses).unwrap();
        assert_eq!(excesses.len(), 36);
        near(fit.sigma, 9.635133, 1e-6);
        near(fit.xi, 0.684152, 1e-6);
        near(-fit.log_likelihood, 142.184458, 1e-6);
        let (low, high) = ends(fit.shape(&excesses, 0.95).unwrap());
        near(low, 0.27243, 1e-5);
        near(high, 1.41112, 1e-5);
        let profile = fit.excess_interval(&excesses, 10_000.0 * 36.0 / 2167.0, 0.95).unwrap();
        near(20.0 + profile.value, 471.316683, 1e-3);
        near(20.0 + profile.low.unwrap(), 152.3234, 1e-4);
        near(20.0 + profile.high.unwrap(), 7257.6725, 1e-2);
    }

    #[test]
    fn shapes_of_every_sign_are_found() {
        let mut coin = Coin::new(5);
        for xi in [-0.4, -0.2, 0.0, 0.3] {
            let draw = |coin: &mut Coin| 8.0 * growth(xi, 1.0 / (1.0 - coin.unit()));
            let excesses: Vec<f64> = (0..4000).map(|_| draw(&mut coin)).filter(|excess| *excess > 0.0).collect();
            let fit = fit(&excesses).unwrap();
            near(fit.xi, xi, 0.06);
            near(fit.sigma, 8.0, 0.6);
            assert!(distance_p_value(fit.distance(&excesses), fit.xi) > 0.01, "{xi}");
        }
    }

    #[test]
    fn distances_have_the_simulated_probabilities() {
        near(distance_p_value(0.9685, 0.0), 0.05, 1e-9);
        near(distance_p_value(0.5 * (1.4140 + 1.3393), 0.05), 0.01, 1e-9);
        assert_eq!(distance_p_value(0.1, 0.2), 0.5);
        assert!(distance_p_value(9.0, 0.2) < 1e-4);
        near(distance_p_value(2.5839, -3.0), 0.001, 1e-9);
        near(distance_p_value(1.6941, 2.0), 0.001, 1e-9);
    }

    #[test]
    fn a_series_without_a_tail_has_no_fit() {
        for excesses in [&[][..], &[1.0; 50], &[1.0, 2.0], &[f64::NAN; 50], &[f64::INFINITY; 20], &[-1.0; 20]] {
            assert_eq!(fit(excesses), None);
        }
    }

    proptest! {
        #[test]
        fn any_excesses_fit_or_do_not(excesses in proptest::collection::vec(1e-3f64..1e9, 0..60)) {
            if let Some(fit) = fit(&excesses) {
                prop_assert!(fit.sigma.is_finite() && fit.sigma > 0.0 && fit.xi.is_finite() && fit.log_likelihood.is_finite());
                let better = log_likelihood_of(&excesses, fit.sigma * 1.01, fit.xi);
                prop_assert!(better <= fit.log_likelihood + 1e-6 * fit.log_likelihood.abs());
            }
        }
    }
}
