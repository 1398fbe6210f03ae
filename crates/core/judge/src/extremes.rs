//! Extrapolates how late a wake-up may come in a time longer than the test: extreme value theory, behind a gate.
//!
//! [`peaks`] fits the excesses over a threshold (generalised Pareto). [`maxima`] fits the maxima of blocks (generalised
//! extreme value) as a cross-check. Both give intervals by profile likelihood. [`gate`] first tests whether the series
//! is stationary, and [`threshold`] finds where its tail becomes regular. [`extrapolation`](mod@extrapolation) combines
//! them and refuses with a reason. It cannot account for anything that did not happen during the test, and no test can
//! warn of that.

pub mod extrapolation;
pub mod gate;
pub mod maxima;
mod other_causes;
pub mod peaks;
pub mod threshold;

pub use claims::extrapolation::Profile;
use statrs::distribution::{ChiSquared, ContinuousCDF};

/// How far a log-likelihood may lie below its maximum inside an interval: half the quantile of chi-square with one
/// degree of freedom.
fn likelihood_drop(confidence: f64) -> Option<f64> {
    let inside = confidence > 0.0 && confidence < 1.0;
    inside.then(|| ChiSquared::new(1.0).ok().map(|chi| chi.inverse_cdf(confidence) / 2.0)).flatten()
}

#[cfg(test)]
pub(crate) mod published;
