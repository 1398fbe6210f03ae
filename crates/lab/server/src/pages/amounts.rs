//! Figures as the pages show them.

use maud::{Markup, html};
use store::queries::fleet::Coverage;
use words::figures::{count, counted, duration, latency, microseconds};

const SECOND_NS: i64 = 1_000_000_000;

/// A latency, exact in its title; a dash if it is not known.
pub fn figure(ns: Option<i64>) -> Markup {
    html! {
        @match ns {
            Some(ns) => span title={ (microseconds(ns)) " µs" } { (latency(ns)) },
            None => span.beside { "–" },
        }
    }
}

/// The basis of a worst case, or of a zero.
pub fn coverage(of: &Coverage) -> Markup {
    html! {
        @if of.samples == 0 {
            span.beside { "no valid run" }
        } @else {
            (figure(of.latency_max_ns))
            span.beside { "of " (rounded(of.samples)) " samples, " (duration(of.measured_ns)) ", " (counted(of.runs, "run")) }
        }
    }
}

/// A large count to two digits or more: `0.11 million`, `3.1 million`.
pub fn rounded(number: u64) -> String {
    match number {
        0..100_000 => count(number),
        100_000..1_000_000 => format!("{:.2} million", number as f64 / 1e6),
        1_000_000..1_000_000_000 => format!("{:.1} million", number as f64 / 1e6),
        _ => format!("{:.1} billion", number as f64 / 1e9),
    }
}

/// How long ago an instant was.
pub fn ago(unix_ns: i64, now_unix_ns: i64) -> String {
    let seconds = now_unix_ns.saturating_sub(unix_ns) / SECOND_NS;
    let unit = |number: i64, name: &str| format!("{} ago", counted(number.unsigned_abs(), name));
    match seconds {
        ..0 => "in the future".into(),
        0..90 => "just now".into(),
        90..5_400 => unit((seconds + 30) / 60, "minute"),
        5_400..172_800 => unit((seconds + 1800) / 3600, "hour"),
        172_800..5_184_000 => unit((seconds + 43_200) / 86_400, "day"),
        _ => unit(seconds / 2_592_000, "month"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_in_the_largest_unit_that_says_enough() {
        let ago = |seconds: i64| super::ago(0, seconds * SECOND_NS);
        assert_eq!(
            [ago(-5), ago(5), ago(600), ago(7200), ago(3 * 86_400), ago(70 * 86_400)],
            ["in the future", "just now", "10 minutes ago", "2 hours ago", "3 days ago", "2 months ago"]
        );
    }

    #[test]
    fn counts_near_each_other_stay_apart() {
        let shown = [99_999, 114_712, 119_848, 3_100_000, 2_000_000_000].map(rounded);
        assert_eq!(shown, ["99 999", "0.11 million", "0.12 million", "3.1 million", "2.0 billion"]);
    }

    #[test]
    fn a_zero_stands_beside_what_it_rests_on() {
        let shown = coverage(&Coverage {
            runs: 2,
            samples: 3_100_000,
            measured_ns: 7_500 * SECOND_NS,
            latency_max_ns: Some(0),
        });
        let shown = shown.into_string();
        assert!(shown.contains("of 3.1 million samples, 2 h 5 min, 2 runs"), "{shown}");
        assert!(coverage(&Coverage::default()).into_string().contains("no valid run"));
    }
}
