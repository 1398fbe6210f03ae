//! Limits as a user writes them: `latency < 100us`, `p99.9 < 50us`, `missed < 1/h`, and how often they may be broken.

use serde::{Deserialize, Serialize};
use std::fmt::Display;
use thiserror::Error;

/// A rate of events.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Rate {
    pub per_hour: f64,
    /// The source text.
    pub text: String,
}

/// The requirement of a limit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Requirement {
    /// No wake-up later than this, beyond the allowed rate.
    Latency { latest_ns: i64 },
    /// This share of the wake-ups is no later than this.
    Quantile {
        q: f64,
        latest_ns: i64,
        /// Longest time, in seconds, for which a disturbance is assumed to make wake-ups late.
        #[serde(default = "disturbance_default")]
        disturbance_s: u32,
    },
    /// No missed period, beyond the allowed rate.
    Missed,
}

/// Longest disturbance of a quantile, in seconds, unless the limit states another one. A run without a late wake-up does not
/// show how long one would last.
pub const DISTURBANCE_S: u32 = 60;

fn disturbance_default() -> u32 {
    DISTURBANCE_S
}

impl Requirement {
    /// The latest that a wake-up may be, if that is limited.
    pub fn latest_ns(&self) -> Option<i64> {
        match self {
            Self::Latency { latest_ns } | Self::Quantile { latest_ns, .. } => Some(*latest_ns),
            Self::Missed => None,
        }
    }
}

/// A requirement and how often it may be broken. For a quantile, the requirement itself includes that.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Limit {
    /// The source text without extra spaces.
    pub text: String,
    pub requirement: Requirement,
    pub allow: Option<Rate>,
}

/// Words for the lateness of a wake-up. The jitter of a cycle is how late it begins.
const LATENCY_WORDS: [&str; 3] = ["latency", "jitter", "lateness"];

/// Why a text is not a limit, and what to write instead.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum LimitError {
    #[error("`{0}` is not a rate; write a number and a time, like 1/h, 3/day or 0.5/week")]
    Rate(String),
    #[error("`{0}` is not a limit; write `latency < 100us`, `p99.9 < 50us` or `missed < 1/h`")]
    Form(String),
    /// The message of the parser of times.
    #[error("{0}")]
    Time(String),
    #[error("a limit must be longer than 0")]
    Zero,
    #[error(
        "no test shows that a maximum stays below a limit; write `latency < ...` and how often it may be exceeded, like \
         --allow 1/day (in a plan: allow = \"1/day\")"
    )]
    Maximum,
    #[error("`{0}` is not a quantile; write one from p1 to p99.99999")]
    Quantile(String),
    #[error("`{0}` is not the longest disturbance; write `p99.9 < 50us, disturbance < 1s`")]
    Disturbance(String),
    #[error("`disturbance` is for quantiles, and `{0}` counts occasions; leave it out")]
    NoDisturbance(String),
    #[error(
        "a run counts the samples over one latency only, and `{0}` and `{1}` have two; write them with the same latency, \
         or make two plans"
    )]
    TwoLatencies(String, String),
}

/// Units of time in a rate, with their length in hours.
const PERIODS: [(&str, f64); 14] = [
    ("s", 1.0 / 3600.0),
    ("second", 1.0 / 3600.0),
    ("min", 1.0 / 60.0),
    ("minute", 1.0 / 60.0),
    ("h", 1.0),
    ("hour", 1.0),
    ("d", 24.0),
    ("day", 24.0),
    ("w", 168.0),
    ("week", 168.0),
    ("month", 730.5),
    ("y", 8766.0),
    ("a", 8766.0),
    ("year", 8766.0),
];

impl Rate {
    /// Parses `1/h`, `3/day`, `0.5/week`, `never`.
    ///
    /// # Errors
    /// [`LimitError`], which states what to write.
    pub fn parse(text: &str) -> Result<Self, LimitError> {
        let text = text.trim();
        if text == "never" || text == "0" {
            return Ok(Self { per_hour: 0.0, text: "never".into() });
        }
        let form = || LimitError::Rate(text.to_owned());
        let (number, period) = text.split_once('/').ok_or_else(form)?;
        let number = number.trim();
        let plain = !number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit() || digit == b'.');
        let events: f64 = number.parse().ok().filter(|_| plain).ok_or_else(form)?;
        let (_, hours) = PERIODS.iter().find(|(name, _)| *name == period.trim()).ok_or_else(form)?;
        if events > 1e9 {
            return Err(form());
        }
        Ok(Self { per_hour: events / hours, text: format!("{number}/{}", period.trim()) })
    }
}

impl Limit {
    /// Parses a limit; a time alone is the latest that a wake-up may be, as for `run --limit`. `time_ns` parses a time with its unit; `allow` is the rate at which a latency may be exceeded.
    ///
    /// # Errors
    /// [`LimitError`], which states what to write.
    pub fn parse<E: Display>(
        text: &str,
        allow: &Rate,
        time_ns: impl Fn(&str) -> Result<u64, E>,
    ) -> Result<Self, LimitError> {
        let form = || LimitError::Form(text.trim().to_owned());
        if !text.contains('<') && time_ns(text.trim()).is_ok() {
            return Self::parse(&format!("latency <= {}", text.trim()), allow, time_ns);
        }
        let Some((what, bound)) = text.split_once('<') else {
            let number = text.trim().bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
            // The parser of times names the unit that a bare number lacks.
            return Err(time_ns(text.trim())
                .err()
                .filter(|_| number)
                .map_or_else(form, |error| LimitError::Time(error.to_string())));
        };
        let (bound, disturbance) = bound.split_once(',').map_or((bound, None), |(bound, rest)| (bound, Some(rest)));
        let (bound, inclusive) = bound.strip_prefix('=').map_or((bound, false), |bound| (bound, true));
        let what = match what.split_whitespace().collect::<Vec<_>>().join(" ") {
            word if LATENCY_WORDS.contains(&word.as_str()) => "latency".to_owned(),
            what => what,
        };
        let sign = if inclusive { "<=" } else { "<" };
        let stated = disturbance.map(|rest| disturbance_s(rest, &time_ns)).transpose()?;
        if stated.is_some() && !what.starts_with('p') {
            return Err(LimitError::NoDisturbance(what));
        }
        let of_disturbance = stated.map_or(String::new(), |seconds| format!(", disturbance < {seconds}s"));
        let tidy = format!("{what} {sign} {}{of_disturbance}", bound.trim());
        let latest_ns = || -> Result<i64, LimitError> {
            let ns = i64::try_from(time_ns(bound.trim()).map_err(|error| LimitError::Time(error.to_string()))?)
                .map_err(|_| form())?;
            if ns == 0 { Err(LimitError::Zero) } else { Ok(ns - i64::from(!inclusive)) }
        };
        match what.as_str() {
            "latency" => Ok(Self {
                text: tidy,
                requirement: Requirement::Latency { latest_ns: latest_ns()? },
                allow: Some(allow.clone()),
            }),
            "missed" | "missed periods" => {
                Ok(Self { text: tidy, requirement: Requirement::Missed, allow: Some(Rate::parse(bound)?) })
            }
            "max" | "maximum" => Err(LimitError::Maximum),
            quantile => {
                let percent = quantile.strip_prefix('p').filter(|digits| {
                    digits.bytes().all(|digit| digit.is_ascii_digit() || digit == b'.') && digits.len() <= 12
                });
                let percent: f64 = percent.and_then(|digits| digits.parse().ok()).ok_or_else(form)?;
                if !(1.0..100.0).contains(&percent) {
                    return Err(LimitError::Quantile(quantile.to_owned()));
                }
                let disturbance_s = stated.unwrap_or(DISTURBANCE_S);
                let requirement = Requirement::Quantile { q: percent / 100.0, latest_ns: latest_ns()?, disturbance_s };
                Ok(Self { text: tidy, requirement, allow: None })
            }
        }
    }
}

/// The longest disturbance of a limit, in whole seconds: `disturbance < 1s`.
fn disturbance_s<E: Display>(text: &str, time_ns: impl Fn(&str) -> Result<u64, E>) -> Result<u32, LimitError> {
    let form = || LimitError::Disturbance(text.trim().to_owned());
    let (what, length) = text.split_once('<').ok_or_else(form)?;
    if what.trim() != "disturbance" {
        return Err(form());
    }
    let length = length.strip_prefix('=').unwrap_or(length).trim();
    let ns = time_ns(length).map_err(|error| LimitError::Time(error.to_string()))?;
    u32::try_from(ns.div_ceil(1_000_000_000)).ok().filter(|seconds| *seconds > 0).ok_or_else(form)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn microseconds(text: &str) -> Result<u64, std::num::ParseIntError> {
        let number = text.strip_suffix("us").unwrap_or("no unit");
        number.trim().parse::<u64>().map(|us| us * 1000)
    }

    fn limit(text: &str) -> Result<Limit, LimitError> {
        Limit::parse(text, &Rate::parse("1/h").unwrap(), microseconds)
    }

    #[test]
    fn rates_in_every_unit() {
        let per_hour = |text: &str| Rate::parse(text).unwrap().per_hour;
        assert_eq!(
            [per_hour("1/h"), per_hour("24 / day"), per_hour("never"), per_hour("0.5/min")],
            [1.0, 1.0, 0.0, 30.0]
        );
        for text in ["", "1", "1/", "/h", "x/h", "-1/h", "1/fortnight", "inf/h", "nan/h", "1e9/h", "9999999999/h"] {
            assert!(matches!(Rate::parse(text), Err(LimitError::Rate(_))), "{text}");
        }
    }

    #[test]
    fn limits_of_every_form() {
        assert_eq!(limit("latency<100us").unwrap().requirement, Requirement::Latency { latest_ns: 99_999 });
        assert_eq!(limit(" latency <= 100us").unwrap().requirement, Requirement::Latency { latest_ns: 100_000 });
        let quantile = limit("p99.9 < 50us").unwrap();
        assert!(
            matches!(quantile.requirement, Requirement::Quantile { q, latest_ns: 49_999, disturbance_s: 60 } if (q - 0.999).abs() < 1e-12)
        );
        assert_eq!((quantile.text.as_str(), quantile.allow), ("p99.9 < 50us", None));
        let missed = limit("missed  periods < 2/day").unwrap();
        assert_eq!((missed.text.as_str(), missed.requirement), ("missed periods < 2/day", Requirement::Missed));
        assert_eq!(missed.allow.unwrap().text, "2/day");
    }

    #[test]
    fn a_time_alone_and_jitter_limit_the_latency() {
        let latency = limit("latency < 100us").unwrap();
        assert_eq!(limit("jitter < 100us").unwrap(), latency);
        assert_eq!(limit("lateness < 100us").unwrap(), latency);
        assert_eq!(limit(" 100us").unwrap(), limit("latency <= 100us").unwrap(), "as for run --limit");
    }

    #[test]
    fn a_quantile_may_state_its_longest_disturbance() {
        let short = limit("p99<50us,disturbance<2000000us").unwrap();
        assert!(matches!(short.requirement, Requirement::Quantile { disturbance_s: 2, .. }), "{short:?}");
        assert_eq!(short.text, "p99 < 50us, disturbance < 2s");
        assert_eq!(limit("latency < 50us, disturbance < 1000000us"), Err(LimitError::NoDisturbance("latency".into())));
        for text in ["p99 < 50us, burst < 1000000us", "p99 < 50us,", "p99 < 50us, disturbance < 0us"] {
            assert!(matches!(limit(text), Err(LimitError::Disturbance(_))), "{text}");
        }
        let older = serde_json::json!({ "quantile": { "q": 0.9, "latest_ns": 5 } });
        let older: Requirement = serde_json::from_value(older).unwrap();
        assert_eq!(older, Requirement::Quantile { q: 0.9, latest_ns: 5, disturbance_s: DISTURBANCE_S });
    }

    #[test]
    fn a_wrong_limit_is_refused_with_the_correct_form() {
        assert_eq!(limit("max < 100us"), Err(LimitError::Maximum));
        for text in
            ["", "latency", "latency < 100", "latency < 0us", "0us", "p < 1us", "p100 < 1us", "p0 < 1us", "drift < 1us"]
        {
            assert!(limit(text).is_err(), "{text}");
        }
        assert!(matches!(limit("missed < 1"), Err(LimitError::Rate(_))));
    }

    proptest! {
        #[test]
        fn any_text_is_a_limit_or_a_sentence(text in ".{0,40}") {
            if let Err(sentence) = limit(&text) {
                prop_assert!(!sentence.to_string().is_empty());
            }
            let _ = Rate::parse(&text);
        }
    }
}
