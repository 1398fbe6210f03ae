//! Differences between two runs, with times in units that a person reads.

use crate::figures::{duration, latency};
use claims::difference::Difference;
use claims::difference_kind::DifferenceKind;

/// The name of the difference, and its sides.
pub fn in_units(difference: &Difference) -> (String, Difference) {
    let (name, words): (&str, fn(i64) -> String) = match difference.what {
        DifferenceKind::Duration => ("duration", duration),
        DifferenceKind::Interval => ("interval", latency),
        DifferenceKind::Limit => ("limit", latency),
        DifferenceKind::ClockResolution => ("clock resolution", latency),
        other => {
            let sides = Difference { a: yes_or_no(&difference.a), b: yes_or_no(&difference.b), ..difference.clone() };
            return (other.to_string(), sides);
        }
    };
    let time = |ns: &Option<String>| ns.as_ref().and_then(|ns| ns.parse().ok()).map(words);
    (name.into(), Difference { a: time(&difference.a), b: time(&difference.b), ..difference.clone() })
}

/// The name and both sides as one phrase: `interval (1.0 ms in A, 2.0 ms in B)`.
pub fn phrase(difference: &Difference) -> String {
    let (name, Difference { a, b, .. }) = in_units(difference);
    let side = |value: Option<String>| value.unwrap_or("none".into());
    format!("{name} ({} in A, {} in B)", side(a), side(b))
}

/// A setting that is on or off, as a person says it.
fn yes_or_no(side: &Option<String>) -> Option<String> {
    match side.as_deref() {
        Some("true") => Some("yes".into()),
        Some("false") => Some("no".into()),
        _ => side.clone(),
    }
}
