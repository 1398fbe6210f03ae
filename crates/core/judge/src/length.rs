//! Plans the length of a test: how long it must be to show that a limit holds, for a number of events during the test.
//! The same functions judge the test afterwards.

use crate::bounds::{expected_events, time_needed};
use crate::occasions::occasion_s;
use crate::quantile::stretches_needed;
use claims::length::PER_HOUR_MAX;
pub use claims::length::{Length, Needed};
use claims::limit::{Limit, Requirement};

/// Numbers of events during the test to plan for.
const EVENTS: [u64; 4] = [0, 1, 2, 3];
/// The longest test worth printing: 30 years.
const HOURS_MAX: f64 = 263_000.0;

/// Length of a test that shows a limit to hold, with wake-ups every `interval_ns`.
pub fn needed(limit: &Limit, interval_ns: u64, confidence: f64) -> Needed {
    let length = |events: u64| -> Option<Length> {
        let (hours, samples) = match (&limit.requirement, &limit.allow) {
            (Requirement::Quantile { q, disturbance_s, .. }, _) => {
                let stretches = stretches_needed(1.0 - q, events, confidence)?;
                let stretch_s = f64::from(*disturbance_s).max(interval_ns as f64 / 1e9);
                let seconds = stretches * stretch_s;
                (seconds / 3600.0, Some((seconds * 1e9 / interval_ns.max(1) as f64).ceil()))
            }
            (_, allow) => {
                let per_hour = allow.as_ref().map(|allow| allow.per_hour).filter(|rate| *rate <= PER_HOUR_MAX)?;
                (time_needed(per_hour, events, confidence)?, None)
            }
        };
        Some(Length { events, hours, samples }).filter(|length| length.hours.is_finite() && length.hours < HOURS_MAX)
    };
    let lengths: Vec<Length> = EVENTS.into_iter().filter_map(length).collect();
    let sentence = words::claims::length::sentence(limit, &lengths, confidence);
    Needed { limit: limit.clone(), confidence, lengths, sentence }
}

/// The shortest test that shows a rate to be exceeded.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Refutation {
    /// Occasions with late wake-ups.
    pub occasions: u64,
    /// From the first to the last of them.
    pub hours: f64,
}

/// Occasions tried before a rate counts as one that no test refutes.
const REFUTING_OCCASIONS_MAX: u64 = 10_000;

/// The fewest occasions that refute an allowed rate on one CPU; more CPUs need more. `None` for a quantile, or a rate that the record
/// of each second cannot resolve. Late wake-ups in a large part of a shorter run may refute it as well.
pub fn refutation(limit: &Limit, confidence: f64) -> Option<Refutation> {
    let per_hour = limit.allow.as_ref().map(|allow| allow.per_hour).filter(|rate| *rate <= PER_HOUR_MAX)?;
    if matches!(limit.requirement, Requirement::Quantile { .. }) {
        return None;
    }
    let occasion_hours = f64::from(occasion_s(per_hour)) / 3600.0;
    let level = level_of_events(confidence);
    (1..REFUTING_OCCASIONS_MAX)
        .find(|count| expected_events(*count, level).0 > per_hour * *count as f64 * occasion_hours)
        .map(|occasions| Refutation { occasions, hours: (occasions - 1) as f64 * occasion_hours })
}

/// The level of each of the two ways to refute a rate, which share the error of `confidence`.
pub(crate) fn level_of_events(confidence: f64) -> f64 {
    1.0 - (1.0 - confidence) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use claims::limit::Rate;

    fn limit(requirement: Requirement, allow: &str) -> Limit {
        let allow = (!allow.is_empty()).then(|| Rate::parse(allow).unwrap());
        Limit { text: String::new(), requirement, allow }
    }

    #[test]
    fn rates_take_three_over_the_rate() {
        let day = needed(&limit(Requirement::Latency { latest_ns: 99_999 }, "1/day"), 1_000_000, 0.95);
        let hours: Vec<f64> = day.lengths.iter().map(|length| length.hours).collect();
        assert!((hours[0] - 71.9).abs() < 0.05, "{hours:?}");
        for (at, factor) in [(1, 1.58), (2, 2.10), (3, 2.59)] {
            assert!((hours[at] / hours[0] - factor).abs() < 0.005, "{hours:?}");
        }
        let expected = "To show it with 95 % confidence takes on each CPU 3 days without any late wake-up; 4.75 days with 1, \
                        6.3 days with 2, 7.76 days with 3.";
        assert!(day.sentence.starts_with(expected), "{}", day.sentence);
    }

    #[test]
    fn quantiles_take_stretches_of_time_and_not_samples() {
        for (allowed, interval_ns, disturbance_s, expected) in [
            (0.5, 1_000_000, 60, 0.333),
            (1e-2, 1_000_000, 60, 5.3),
            (1e-2, 1_000_000, 1, 0.0884),
            (1e-3, 1_000_000, 1, 0.885),
            (1e-3, 250_000, 1, 0.885),
            (1e-4, 1_000_000, 1, 8.86),
            (1e-4, 10_000_000_000, 1, 88.6),
        ] {
            let requirement = Requirement::Quantile { q: 1.0 - allowed, latest_ns: 1, disturbance_s };
            let length = needed(&limit(requirement, ""), interval_ns, 0.95).lengths[0];
            assert!((length.hours / expected - 1.0).abs() < 0.02, "{allowed} {length:?}");
        }
    }

    #[test]
    fn a_rate_is_refuted_by_occasions_and_not_by_a_short_run() {
        let of = |allow: &str| refutation(&limit(Requirement::Latency { latest_ns: 1 }, allow), 0.95);
        assert_eq!(of("1/h"), Some(Refutation { occasions: 3, hours: 1.0 / 3.0 }));
        assert_eq!(of("never").map(|one| (one.occasions, one.hours)), Some((1, 0.0)));
        assert_eq!(of("1/day").map(|one| one.occasions), Some(1), "one in ten minutes");
        assert_eq!(of("10/s"), None);
        let quantile = Requirement::Quantile { q: 0.99, latest_ns: 1, disturbance_s: 60 };
        assert_eq!(refutation(&limit(quantile, ""), 0.95), None);
    }

    #[test]
    fn an_endless_test_is_named() {
        let never = needed(&limit(Requirement::Missed, "never"), 1, 0.95);
        assert!(never.lengths.is_empty() && never.sentence.contains("never"), "{}", never.sentence);
        let often = needed(&limit(Requirement::Missed, "1/s"), 1, 0.95);
        assert!(often.lengths.is_empty() && often.sentence.contains("quantile"), "{}", often.sentence);
        let rare = needed(&limit(Requirement::Missed, "0.001/year"), 1, 0.95);
        assert!(rare.sentence.contains("30 years"), "{}", rare.sentence);
    }
}
