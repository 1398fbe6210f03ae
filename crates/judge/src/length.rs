//! How long a test must be before it is begun: what shows that a limit holds, when so many events come in between.

use crate::bounds::{expected_events, time_needed, trials_needed};
use crate::limit::{Limit, Requirement};
use crate::words::{hours, percent, rough};
use serde::{Deserialize, Serialize};

/// Events that may come during the test.
const EVENTS: [u64; 4] = [0, 1, 2, 3];
/// A test longer than this is none that anybody makes: 30 years.
const HOURS_MAX: f64 = 263_000.0;

/// A test that shows something although so many events come in it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Length {
    pub events: u64,
    /// On each CPU.
    pub hours: f64,
    /// Independent wake-ups on each CPU, where a quantile is to be shown.
    pub samples: Option<f64>,
}

/// How long it takes to show that a limit holds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Needed {
    pub limit: Limit,
    pub confidence: f64,
    pub lengths: Vec<Length>,
    pub sentence: String,
}

/// How long a test must be that shows a limit to hold, with wake-ups every `interval_ns`.
pub fn needed(limit: &Limit, interval_ns: u64, confidence: f64) -> Needed {
    let length = |events: u64| -> Option<Length> {
        let (hours, samples) = match (&limit.requirement, &limit.allow) {
            (Requirement::Quantile { q, .. }, _) => {
                let p = 1.0 - q;
                let samples =
                    if events == 0 { trials_needed(p, confidence)? } else { expected_events(events, confidence).1 / p };
                (samples * interval_ns as f64 / 3.6e12, Some(samples.ceil()))
            }
            (_, allow) => (time_needed(allow.as_ref()?.per_hour, events, confidence)?, None),
        };
        Some(Length { events, hours, samples }).filter(|length| length.hours.is_finite() && length.hours < HOURS_MAX)
    };
    let lengths: Vec<Length> = EVENTS.into_iter().filter_map(length).collect();
    let sentence = sentence(limit, &lengths, confidence);
    Needed { limit: limit.clone(), confidence, lengths, sentence }
}

fn sentence(limit: &Limit, lengths: &[Length], confidence: f64) -> String {
    let Some(first) = lengths.first().filter(|length| length.events == 0) else {
        let never = limit.allow.as_ref().is_some_and(|rate| rate.per_hour == 0.0);
        return if never {
            "No test is long enough to show *never*. Allow a rate, like 1/day.".into()
        } else {
            "A test that shows it would take more than 30 years.".into()
        };
    };
    let event = match &limit.requirement {
        Requirement::Latency { .. } => "late wake-up",
        Requirement::Missed => "missed period",
        Requirement::Quantile { .. } => "wake-up over it",
    };
    let samples = first.samples.map_or(String::new(), |samples| format!(" ({} wake-ups)", rough(samples)));
    let others: Vec<String> =
        lengths[1..].iter().map(|length| format!("{} with {}", hours(length.hours), length.events)).collect();
    let others = if others.is_empty() { String::new() } else { format!("; {}", others.join(", ")) };
    format!(
        "To show it with {} confidence takes on each CPU {} without any {event}{samples}{others}. Events that cluster \
         make it longer.",
        percent(confidence),
        hours(first.hours)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limit::Rate;

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
        let expected = "To show it with 95 % confidence takes on each CPU 3 days without any late wake-up; 4.74 days with 1, \
                        6.3 days with 2, 7.75 days with 3. Events that cluster make it longer.";
        assert_eq!(day.sentence, expected);
    }

    #[test]
    fn quantiles_take_as_many_wake_ups_as_the_reference_says() {
        for (nines, interval_ns, hours) in [
            (1e-6, 1_000_000, 50.0 / 60.0),
            (1e-6, 250_000, 12.5 / 60.0),
            (1e-7, 200_000, 1.7),
            (1e-8, 1_000_000, 3.5 * 24.0),
            (1e-9, 250_000, 8.7 * 24.0),
        ] {
            let requirement = Requirement::Quantile { q: 1.0 - nines, latest_ns: 1 };
            let told = needed(&limit(requirement, ""), interval_ns, 0.95).lengths[0];
            assert!((told.hours / hours - 1.0).abs() < 0.03, "{nines} {told:?}");
        }
    }

    #[test]
    fn what_takes_for_ever_says_so() {
        let never = needed(&limit(Requirement::Missed, "never"), 1, 0.95);
        assert!(never.lengths.is_empty() && never.sentence.contains("never"), "{}", never.sentence);
        let rare = needed(&limit(Requirement::Missed, "0.001/year"), 1, 0.95);
        assert!(rare.sentence.contains("30 years"), "{}", rare.sentence);
    }
}
