//! Bounds that assume no distribution: the highest rate of an event, the samples between which a quantile lies, the
//! length that a test needs, and what a maximum means.
//!
//! Counted events must be independent. Samples are not: count events or time blocks ([`crate::blocks`]), or divide by
//! the dispersion first.

use statrs::distribution::{Binomial, ContinuousCDF, DiscreteCDF, Normal};
use statrs::function::beta::beta_reg;
use statrs::function::gamma::gamma_lr;

/// Below this number of expected successes and failures, ranks come from the binomial distribution itself. Above it,
/// the normal approximation differs by less than a rank in a hundred thousand, and the sums of the exact distribution
/// no longer converge.
const EXACT_MAX: f64 = 5000.0;

/// Probability of an event, from `hits` events in `trials` independent trials: `(low, high)`, each at the one-sided
/// `confidence` (Clopper and Pearson 1934). Fractions of events are allowed. A two-sided interval takes `(1 + c) / 2`.
pub fn probability(hits: f64, trials: f64, confidence: f64) -> (f64, f64) {
    if trials.is_nan() || trials <= 0.0 || hits.is_nan() || hits < 0.0 {
        return (0.0, 1.0);
    }
    let misses = (trials - hits).max(0.0);
    let low = if hits == 0.0 {
        0.0
    } else if misses == 0.0 {
        (1.0 - confidence).powf(1.0 / trials)
    } else {
        root(0.0, 1.0, |p| beta_reg(hits, misses + 1.0, p) - (1.0 - confidence))
    };
    let high = if misses == 0.0 {
        1.0
    } else if hits == 0.0 {
        // 1 - a^(1/n), without cancellation.
        -((1.0 - confidence).ln() / trials).exp_m1()
    } else {
        root(0.0, 1.0, |p| beta_reg(hits + 1.0, misses, p) - confidence)
    };
    (low, high)
}

/// Expected number of events after `events` observed ones: `(low, high)`, each at the one-sided `confidence` (Garwood
/// 1936).
pub fn expected_events(events: u64, confidence: f64) -> (f64, f64) {
    let seen = events as f64;
    let widest = 2.0 * seen + 100.0 - 10.0 * (1.0 - confidence).ln();
    let low = if events == 0 { 0.0 } else { root(0.0, widest, |mean| poisson_more(seen, mean) - (1.0 - confidence)) };
    let high = if events == 0 {
        -(1.0 - confidence).ln()
    } else {
        root(0.0, widest, |mean| poisson_more(seen + 1.0, mean) - confidence)
    };
    (low, high)
}

/// P(at least `events` | `mean`).
fn poisson_more(events: f64, mean: f64) -> f64 {
    if mean <= 0.0 { 0.0 } else { gamma_lr(events, mean) }
}

/// Zero of an increasing function, to the last digit.
fn root(mut low: f64, mut high: f64, function: impl Fn(f64) -> f64) -> f64 {
    for _ in 0..2000 {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            break;
        }
        if function(middle) < 0.0 { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

/// Ranks, counted from 1, of the samples between which a quantile lies.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ranks {
    /// `None`: too few samples for a bound on this side.
    pub low: Option<u64>,
    pub high: Option<u64>,
    /// Probability that the quantile lies between them; at least the confidence if both exist.
    pub coverage: f64,
}

/// Ranks around the `q` quantile of `samples` independent samples at a two-sided `confidence`: the largest l with
/// P(Bin(n, q) <= l - 1) <= a/2 and the smallest u with P(Bin(n, q) <= u - 1) >= 1 - a/2.
pub fn quantile_ranks(samples: u64, q: f64, confidence: f64) -> Option<Ranks> {
    if samples == 0 || !(q > 0.0 && q < 1.0) || !(confidence > 0.0 && confidence < 1.0) {
        return None;
    }
    let below = at_most(samples, q)?;
    let tail = (1.0 - confidence) / 2.0;
    // P(X <= k) grows with k; the first k that reaches a probability.
    let first = |reached: &dyn Fn(f64) -> bool| {
        let (mut low, mut high) = (0u64, samples);
        while low < high {
            let middle = low + (high - low) / 2;
            if reached(below(middle)) { high = middle } else { low = middle + 1 }
        }
        low
    };
    let low = Some(first(&|p| p > tail)).filter(|rank| *rank >= 1);
    let high = Some(first(&|p| p >= 1.0 - tail) + 1).filter(|rank| *rank <= samples);
    let coverage = high.map_or(1.0, |rank| below(rank - 1)) - low.map_or(0.0, |rank| below(rank - 1));
    Some(Ranks { low, high, coverage })
}

/// k -> P(Bin(n, q) <= k).
fn at_most(samples: u64, q: f64) -> Option<Box<dyn Fn(u64) -> f64>> {
    let count = samples as f64;
    if count * q.min(1.0 - q) > EXACT_MAX {
        let normal = Normal::new(count * q, (count * q * (1.0 - q)).sqrt()).ok()?;
        return Some(Box::new(move |k| normal.cdf(k as f64 + 0.5)));
    }
    let binomial = Binomial::new(q, samples).ok()?;
    Some(Box::new(move |k| binomial.cdf(k)))
}

/// Trials without any event after which P(event) < `p` may be claimed with `confidence`.
pub fn trials_needed(p: f64, confidence: f64) -> Option<f64> {
    (p > 0.0 && p < 1.0).then(|| ((1.0 - confidence).ln() / (-p).ln_1p()).ceil())
}

/// Time after which a rate below `rate` may be claimed with `confidence` despite `events` events, in the unit of time
/// of the rate. `None` for a rate of zero: no test is long enough to show *never*.
pub fn time_needed(rate: f64, events: u64, confidence: f64) -> Option<f64> {
    (rate > 0.0).then(|| expected_events(events, confidence).1 / rate)
}

/// Probability that the largest of the next `next` blocks exceeds all `seen` blocks, if all have the same distribution.
pub fn new_maximum(seen: f64, next: f64) -> f64 {
    if seen + next > 0.0 { next / (seen + next) } else { 0.0 }
}

/// Mean and variance of the number of records (new maxima, including the first) among `count` values of one
/// distribution.
pub fn records_expected(count: u64) -> (f64, f64) {
    const EULER: f64 = 0.577_215_664_901_532_9;
    if count < 1000 {
        let parts = (1..=count).map(|i| 1.0 / i as f64);
        return (parts.clone().sum(), parts.map(|part| part - part * part).sum());
    }
    let mean = (count as f64).ln() + EULER + 0.5 / count as f64;
    (mean, mean - std::f64::consts::PI.powi(2) / 6.0 + 1.0 / count as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coin::Coin;

    #[track_caller]
    fn near(value: f64, expected: f64, share: f64) {
        assert!((value - expected).abs() <= share * expected.abs(), "{value} is not {expected}");
    }

    #[test]
    fn probabilities_are_those_of_the_reference() {
        near(probability(0.0, 1000.0, 0.95).1, 0.0029912495, 1e-7);
        near(probability(0.0, 1000.0, 0.975).1, 0.0036820839, 1e-7);
        assert_eq!(probability(0.0, 1000.0, 0.975).0, 0.0);
        near(probability(3.0, 1000.0, 0.95).1, 0.0077352447, 1e-7);
        near(probability(3.0, 1000.0, 0.975).0, 0.00061909993, 1e-7);
        near(probability(3.0, 1000.0, 0.975).1, 0.0087420232, 1e-7);
        near(probability(10.0, 1e6, 0.95).1, 1.696216e-5, 1e-6);
        near(probability(10.0, 1e6, 0.975).0, 4.7953988e-6, 1e-7);
        near(probability(10.0, 1e6, 0.975).1, 1.8390279e-5, 1e-7);
        assert_eq!(probability(5.0, 5.0, 0.95).1, 1.0);
        near(probability(5.0, 5.0, 0.95).0, 0.05f64.powf(0.2), 1e-12);
        assert_eq!(probability(0.0, 0.0, 0.95), (0.0, 1.0));
        assert_eq!(probability(f64::NAN, 3.0, 0.95), (0.0, 1.0));
    }

    #[test]
    fn expected_events_are_those_of_garwood() {
        let counts = [0, 1, 2, 3, 5, 10, 20];
        let upper = [2.995732, 4.743865, 6.295794, 7.753657, 10.513035, 16.962219, 29.062019];
        for (count, expected) in counts.iter().zip(upper) {
            near(expected_events(*count, 0.95).1, expected, 1e-6);
        }
        let both = [
            (0.0, 3.688879),
            (0.025318, 5.571643),
            (0.242209, 7.224688),
            (0.618672, 8.767273),
            (1.623486, 11.668332),
            (4.795389, 18.390356),
            (12.216520, 30.888378),
        ];
        for (count, (low, high)) in counts.iter().zip(both) {
            let found = expected_events(*count, 0.975);
            assert!((found.0 - low).abs() < 1e-6 && (found.1 - high).abs() < 1e-6, "{count}: {found:?}");
        }
    }

    #[test]
    fn quantiles_lie_between_the_ranks_of_the_reference() {
        for (samples, q, low, high, coverage) in [
            (100, 0.5, 40, 61, 0.964800),
            (1000, 0.99, 983, 997, 0.976095),
            (100_000, 0.999, 99_880, 99_920, 0.954789),
            (1_000_000, 0.9999, 999_880, 999_920, 0.954692),
            (86_400_000, 0.99999, 86_399_078, 86_399_194, 0.951548),
        ] {
            let ranks = quantile_ranks(samples, q, 0.95).unwrap();
            assert_eq!((ranks.low, ranks.high), (Some(low), Some(high)), "{samples} {q}");
            assert!((ranks.coverage - coverage).abs() < 2e-6, "{samples} {q}: {}", ranks.coverage);
        }
    }

    #[test]
    fn many_samples_go_over_to_the_normal_distribution_without_a_step() {
        // Just below and just above the change.
        let exact = quantile_ranks(9_990, 0.5, 0.95).unwrap();
        let normal = quantile_ranks(10_010, 0.5, 0.95).unwrap();
        assert_eq!((exact.low, exact.high), (Some(4897), Some(5094)));
        assert_eq!((normal.low, normal.high), (Some(4907), Some(5104)));
        let huge = quantile_ranks(1_000_000_000, 0.5, 0.95).unwrap();
        assert_eq!((huge.low, huge.high), (Some(499_969_010), Some(500_030_991)));
    }

    #[test]
    fn the_maximum_bounds_a_quantile_from_wilks_count_on() {
        for (q, needed) in [(0.99, 299), (0.999, 2995), (0.9999, 29_956), (0.99999, 299_572), (0.999999, 2_995_731)] {
            // One-sided 95 % is the upper end of a two-sided 90 %.
            assert_eq!(quantile_ranks(needed, q, 0.90).unwrap().high, Some(needed), "{q}");
            assert_eq!(quantile_ranks(needed - 1, q, 0.90).unwrap().high, None, "{q}");
        }
        assert_eq!(quantile_ranks(0, 0.5, 0.95), None);
        assert_eq!(quantile_ranks(10, 1.0, 0.95), None);
        assert_eq!(quantile_ranks(10, f64::NAN, 0.95), None);
    }

    #[test]
    fn tests_must_be_so_long() {
        assert_eq!(trials_needed(1e-6, 0.95), Some(2_995_731.0));
        near(trials_needed(1e-9, 0.95).unwrap(), 2.996e9, 1e-3);
        assert_eq!(trials_needed(0.0, 0.95), None);
        near(time_needed(1.0, 0, 0.95).unwrap(), 3.0, 0.01);
        near(time_needed(1.0 / 24.0, 0, 0.95).unwrap(), 72.0, 0.01);
        for (events, factor) in [(1, 1.58), (2, 2.10), (3, 2.59)] {
            near(time_needed(1.0, events, 0.95).unwrap() / time_needed(1.0, 0, 0.95).unwrap(), factor, 3e-3);
        }
        assert_eq!(time_needed(0.0, 0, 0.95), None);
    }

    #[test]
    fn a_new_maximum_has_a_known_probability() {
        assert_eq!(new_maximum(24.0, 24.0), 0.5);
        near(new_maximum(24.0, 24.0 * 365.0), 0.997, 1e-3);
        assert_eq!(new_maximum(0.0, 0.0), 0.0);
        let (mean, variance) = records_expected(86_400_000);
        near(mean, 18.85, 1e-3);
        near(variance.sqrt(), 4.1, 0.02);
        let (few, many) = (records_expected(999), records_expected(1000));
        assert!((many.0 - few.0 - 1e-3).abs() < 1e-6 && (many.1 - few.1 - 1e-3).abs() < 2e-6, "{few:?} {many:?}");
    }

    /// Rare events in a test of fixed length: the upper bound must hold in at least 95 % of the tests.
    #[test]
    fn bounds_cover_what_they_promise() {
        let mut coin = Coin::new(77);
        let (tests, trials, p) = (2000, 200, 0.01);
        let mut covered = [0, 0];
        for _ in 0..tests {
            let hits = (0..trials).filter(|_| coin.unit() < p).count();
            covered[0] += u32::from(probability(hits as f64, f64::from(trials), 0.95).1 >= p);
            covered[1] += u32::from(expected_events(hits as u64, 0.95).1 >= p * f64::from(trials));
        }
        let least = (0.95 - 2.5 * (0.95f64 * 0.05 / f64::from(tests)).sqrt()) * f64::from(tests);
        assert!(covered.iter().all(|count| f64::from(*count) >= least), "{covered:?} of {tests}");
    }
}
