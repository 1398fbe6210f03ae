//! The claims that a measurement can show, said before it begins.

use crate::terminal::page::Page;
use claims::limit::{DISTURBANCE_S, Limit, Requirement};
use judge::length::{Refutation, needed, refutation};
use words::amounts::{hours, hours_more, percent};
use words::figures::counted;

/// Shares of wake-ups, from the one that takes least time to show.
const QUANTILES: [(&str, f64); 5] =
    [("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999), ("p99.99", 0.9999), ("p99.999", 0.99999)];

/// How long each claim takes without a late wake-up, in hours.
pub struct Prospect {
    limit: Limit,
    confidence: f64,
    /// For the limit itself; `None` if no length is enough.
    needed: Option<f64>,
    /// The fewest late wake-ups that show the limit to be broken.
    refutation: Option<Refutation>,
    /// For at most this share of later wake-ups.
    quantiles: Vec<(&'static str, f64)>,
}

impl Prospect {
    pub fn of(limit: &Limit, interval_ns: u64, confidence: f64) -> Self {
        let hours = |limit: &Limit| {
            needed(limit, interval_ns, confidence)
                .lengths
                .first()
                .filter(|length| length.events == 0)
                .map(|one| one.hours)
        };
        let latest_ns = match limit.requirement {
            Requirement::Latency { latest_ns } | Requirement::Quantile { latest_ns, .. } => latest_ns,
            Requirement::Missed => 0,
        };
        let quantile = |(name, q): (&'static str, f64)| {
            let requirement = Requirement::Quantile { q, latest_ns, disturbance_s: DISTURBANCE_S };
            Some((name, hours(&Limit { text: name.to_owned(), requirement, allow: None })?))
        };
        Self {
            limit: limit.clone(),
            confidence,
            needed: hours(limit),
            refutation: refutation(limit, confidence),
            quantiles: QUANTILES.into_iter().filter_map(quantile).collect(),
        }
    }

    /// How long YES takes, in ns.
    pub fn needed_ns(&self) -> Option<u64> {
        self.needed.map(|hours| (hours * 3600.0).ceil() as u64 * 1_000_000_000)
    }

    /// Two lines: the question, and what `duration_ns` of measuring can answer.
    pub fn lay_out(&self, duration_ns: Option<u64>, mut page: Page) -> Page {
        page.wrapped("", &self.sentence(duration_ns));
        page
    }

    fn sentence(&self, duration_ns: Option<u64>) -> String {
        let allow = self.limit.allow.as_ref().map_or(String::new(), |rate| rate.text.clone());
        let sure = percent(self.confidence);
        let yes = match self.needed {
            Some(needed) => {
                format!("YES for {allow} takes {} without a late wake-up ({sure} confidence)", hours_more(needed))
            }
            None => format!("no measurement is long enough for YES with `{allow}`; allow a rate, such as 1/h"),
        };
        let Some(measured) = duration_ns.map(|ns| ns as f64 / 3.6e12) else { return format!("{yes}.") };
        if self.needed.is_some_and(|needed| needed <= measured) {
            return format!("{} can end with NO or YES: {yes}.", hours(measured));
        }
        let shown = self.quantiles.iter().rev().find(|(_, needed)| *needed <= measured);
        let shown = shown.map_or(String::new(), |(name, _)| format!(", or show {name}"));
        match self.refutation.filter(|refutation| refutation.hours > measured) {
            None => format!("{} can end with NO{shown}: {yes}.", hours(measured)),
            Some(Refutation { occasions, hours: no }) => format!(
                "{} can end with NO only if a large share of wake-ups is late{shown}. NO for {allow} takes {} with late ones on \
                 {}; {yes}.",
                hours(measured),
                hours_more(no),
                counted(occasions, "occasion"),
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use claims::limit::Rate;
    use fixtures::assert_sentence;

    #[test]
    fn a_measurement_says_first_what_it_can_show() {
        let limit = |allow: &str| Limit {
            text: "latency <= 100 µs".into(),
            requirement: Requirement::Latency { latest_ns: 100_000 },
            allow: Some(Rate::parse(allow).unwrap()),
        };
        let prospect = Prospect::of(&limit("1/h"), 1_000_000, 0.95);
        let minute = prospect.sentence(Some(60_000_000_000));
        let day = Prospect::of(&limit("1/day"), 1_000_000, 0.95).sentence(Some(60_000_000_000));
        let hour = prospect.sentence(Some(3_600_000_000_000));
        let night = prospect.sentence(Some(4 * 3_600_000_000_000));
        assert_sentence!("prospects", [minute, day, hour, night].join("\n"));
        assert!(prospect.needed_ns().unwrap() <= 3 * 3_600_000_000_000);
        assert_eq!(Prospect::of(&limit("never"), 1_000_000, 0.95).needed_ns(), None);
    }
}
