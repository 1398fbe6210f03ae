//! Lengths of tests.

use crate::amounts::{hours, hours_more, percent, rough};
use claims::length::{Length, PER_HOUR_MAX};
use claims::limit::{DISTURBANCE_S, Limit, Requirement};

/// The length of a test that shows a limit to hold, or why no test does.
pub fn sentence(limit: &Limit, lengths: &[Length], confidence: f64) -> String {
    let per_hour = limit.allow.as_ref().map(|rate| rate.per_hour);
    let Some(first) = lengths.first().filter(|length| length.events == 0) else {
        return match per_hour {
            Some(0.0) => "No test is long enough to show *never*. Allow a rate, like 1/day.".into(),
            Some(rate) if rate > PER_HOUR_MAX => {
                "No test shows it: the record of each second cannot resolve more than one in ten seconds. State the limit as a \
                 quantile."
                    .into()
            }
            _ => "A test that shows it would take more than 30 years.".into(),
        };
    };
    let (event, assumed) = match &limit.requirement {
        Requirement::Latency { .. } => (
            "late wake-up",
            "Late wake-ups soon after another count once only if they fall into one minute.".to_owned(),
        ),
        Requirement::Missed => (
            "missed period",
            "Missed periods soon after another count once only if they fall into one minute.".to_owned(),
        ),
        Requirement::Quantile { disturbance_s, .. } => {
            let length = hours(f64::from(*disturbance_s) / 3600.0);
            let shorter = format!(" If none lasts longer than a second, state it: `{}, disturbance < 1s`.", limit.text);
            let shorter = if *disturbance_s == DISTURBANCE_S { shorter } else { String::new() };
            ("disturbance", format!("Assumption: a disturbance makes wake-ups late for at most {length}.{shorter}"))
        }
    };
    let samples = first.samples.map_or(String::new(), |samples| format!(" ({} wake-ups)", rough(samples)));
    let others: Vec<String> =
        lengths[1..].iter().map(|length| format!("{} with {}", hours_more(length.hours), length.events)).collect();
    let others = if others.is_empty() { String::new() } else { format!("; {}", others.join(", ")) };
    format!(
        "To show it with {} confidence takes on each CPU {} without any {event}{samples}{others}. {assumed}",
        percent(confidence),
        hours_more(first.hours)
    )
}
