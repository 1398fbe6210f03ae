//! How late a wake-up may come in a time longer than the test: extreme value theory, behind a gate.
//!
//! [`peaks`] fits the excesses over a threshold (generalised Pareto), [`maxima`] the maxima of blocks (generalised extreme
//! value) to check it against; both give intervals by profile likelihood. [`gate`] asks first whether the series stays what
//! it is, and [`threshold`] from where on its tail is regular. [`extrapolation`](mod@extrapolation) puts them together
//! and refuses with a reason. It is blind to whatever did not happen during the test, and no test can warn of that.

pub mod extrapolation;
pub mod gate;
pub mod maxima;
pub mod peaks;
pub mod threshold;

use serde::{Deserialize, Serialize};
use statrs::distribution::{ChiSquared, ContinuousCDF};

/// A level or shape with what the data do not contradict. An end is absent where no value was found that they do.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    pub value: f64,
    pub low: Option<f64>,
    pub high: Option<f64>,
}

/// By how much a log-likelihood may lie below its maximum inside of an interval: half the quantile of chi-square with one
/// degree of freedom.
fn likelihood_drop(confidence: f64) -> Option<f64> {
    let inside = confidence > 0.0 && confidence < 1.0;
    inside.then(|| ChiSquared::new(1.0).ok().map(|chi| chi.inverse_cdf(confidence) / 2.0)).flatten()
}

#[cfg(test)]
pub(crate) mod published;
