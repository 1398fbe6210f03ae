//! Maxima of blocks: the generalised extreme value distribution by maximum likelihood, as a cross-check of the peaks.

use super::{Profile, likelihood_drop};
use crate::optimum::{falls_below, largest_near};
use serde::{Deserialize, Serialize};

const XI_ZERO: f64 = 1e-9;
const XI: (f64, f64) = (-0.999, 4.0);
const EULER: f64 = 0.577_215_664_901_532_9;

/// Generalised extreme value distribution of block maxima.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct MaximaFit {
    /// Location and scale, in the unit of the maxima.
    pub mu: f64,
    pub sigma: f64,
    pub xi: f64,
    pub log_likelihood: f64,
}

/// Fits maxima of blocks. `None` for fewer than 10 or if all are equal.
pub fn fit(maxima: &[f64]) -> Option<MaximaFit> {
    let count = maxima.len() as f64;
    let mean = maxima.iter().sum::<f64>() / count;
    let deviation = (maxima.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count).sqrt();
    if maxima.len() < 10 || !deviation.is_finite() || deviation <= 0.0 {
        return None;
    }
    let sigma = deviation * 6f64.sqrt() / std::f64::consts::PI;
    let likelihood = |[mu, sigma, xi]: [f64; 3]| log_likelihood_of(maxima, mu, sigma.exp(), xi);
    let from = |xi: f64| {
        let start = [mean - EULER * sigma, sigma.ln(), xi];
        largest_near(start, [0.3 * sigma, 0.3, 0.1], &likelihood)
    };
    let ([mu, sigma, xi], log_likelihood) =
        [0.1, -0.1, 0.4].map(from).into_iter().max_by(|one, other| one.1.total_cmp(&other.1))?;
    log_likelihood.is_finite().then_some(MaximaFit { mu, sigma: sigma.exp(), xi, log_likelihood })
}

fn log_likelihood_of(maxima: &[f64], mu: f64, sigma: f64, xi: f64) -> f64 {
    if !(sigma > 0.0 && sigma.is_finite()) || xi <= XI.0 || xi > XI.1 {
        return f64::NEG_INFINITY;
    }
    let mut sum = -(maxima.len() as f64) * sigma.ln();
    for value in maxima {
        let scaled = (value - mu) / sigma;
        // ln of 1 + xi * scaled, over xi.
        let logarithm = if xi.abs() < XI_ZERO {
            scaled
        } else if xi * scaled > -1.0 {
            (xi * scaled).ln_1p() / xi
        } else {
            return f64::NEG_INFINITY;
        };
        sum -= (1.0 + xi) * logarithm + (-logarithm).exp();
    }
    sum
}

/// Distance above mu, in sigma, of the level below which a block's maximum stays with probability exp(-rate).
fn reach(xi: f64, rate: f64) -> f64 {
    if xi.abs() < XI_ZERO { -rate.ln() } else { (-xi * rate.ln()).exp_m1() / xi }
}

impl MaximaFit {
    /// The level that a block exceeds with probability 1 - exp(-`rate`), and its interval by profile likelihood.
    pub fn level(&self, maxima: &[f64], rate: f64, confidence: f64) -> Option<Profile> {
        let value = self.mu + self.sigma * reach(self.xi, rate);
        let limit = self.log_likelihood - likelihood_drop(confidence)?;
        if !value.is_finite() || rate <= 0.0 || rate >= 1.0 {
            return None;
        }
        let profile = |level: f64| {
            let likelihood = |[sigma, xi]: [f64; 2]| {
                let sigma = sigma.exp();
                log_likelihood_of(maxima, level - sigma * reach(xi, rate), sigma, xi)
            };
            // Far from the estimate the ridge bends: the scale that keeps the location is a better start there.
            let starts = [-0.3, -0.1, 0.0, 0.1, 0.3, 0.6].map(|more| {
                let xi = (self.xi + more).max(XI.0 + 0.01);
                [((level - self.mu).max(0.01 * self.sigma) / reach(xi, rate)).max(1e-3 * self.sigma).ln(), xi]
            });
            let start = starts.into_iter().max_by(|one, other| likelihood(*one).total_cmp(&likelihood(*other)));
            start.map_or(f64::NEG_INFINITY, |start| largest_near(start, [0.1, 0.05], &likelihood).1)
        };
        let step = 0.2 * self.sigma;
        Some(Profile {
            value,
            low: falls_below(value, -step, self.mu - 20.0 * self.sigma, limit, &profile),
            high: falls_below(value, step, value + 1e6 * self.sigma, limit, &profile),
        })
    }

    /// Interval of the shape by profile likelihood.
    pub fn shape(&self, maxima: &[f64], confidence: f64) -> Option<Profile> {
        let limit = self.log_likelihood - likelihood_drop(confidence)?;
        let profile = |xi: f64| {
            let likelihood = |[mu, sigma]: [f64; 2]| log_likelihood_of(maxima, mu, sigma.exp(), xi);
            let start = [self.mu, self.sigma.ln()];
            largest_near(start, [0.3 * self.sigma, 0.3], &likelihood).1
        };
        Some(Profile {
            value: self.xi,
            low: falls_below(self.xi, -0.05, XI.0, limit, &profile),
            high: falls_below(self.xi, 0.05, XI.1, limit, &profile),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::published::PORT_PIRIE;
    use super::*;

    #[track_caller]
    fn near(value: f64, expected: f64, within: f64) {
        assert!((value - expected).abs() <= within, "{value} is not {expected}");
    }

    #[test]
    fn the_sea_levels_are_those_of_the_reference() {
        near(PORT_PIRIE.iter().sum(), 258.74, 1e-9);
        let fit = fit(&PORT_PIRIE).unwrap();
        near(fit.mu, 3.874750, 1e-6);
        near(fit.sigma, 0.198044, 1e-6);
        near(fit.xi, -0.050110, 2e-6);
        near(-fit.log_likelihood, -4.339058, 1e-6);
        let shape = fit.shape(&PORT_PIRIE, 0.95).unwrap();
        near(shape.low.unwrap(), -0.21816, 1e-5);
        near(shape.high.unwrap(), 0.17041, 1e-5);
        for (years, level, low, high) in [
            (10.0, 4.296212, 4.20461, 4.44508),
            (100.0, 4.688404, 4.49044, 5.26070),
            (1000.0, 5.031059, 4.66088, 6.46504),
        ] {
            let profile = fit.level(&PORT_PIRIE, -(1.0 - 1.0f64 / years).ln(), 0.95).unwrap();
            near(profile.value, level, 2e-6);
            near(profile.low.unwrap(), low, 1e-5);
            near(profile.high.unwrap(), high, 1e-5);
        }
    }

    #[test]
    fn without_the_shape_it_is_gumbels() {
        let likelihood = |[mu, sigma]: [f64; 2]| log_likelihood_of(&PORT_PIRIE, mu, sigma.exp(), 0.0);
        let ([mu, sigma], best) = largest_near([3.9, -1.5], [0.1, 0.1], &likelihood);
        near(mu, 3.8694435, 1e-7);
        near(sigma.exp(), 0.1948894, 1e-7);
        near(best, 4.217682, 1e-6);
    }

    #[test]
    fn equal_maxima_have_no_fit() {
        for maxima in [&[][..], &[1.0; 50], &[1.0, 2.0], &[f64::NAN; 50], &[f64::INFINITY; 20]] {
            assert_eq!(fit(maxima), None);
        }
    }
}
