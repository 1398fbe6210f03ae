//! The verdict of one step of a plan, and of all steps together.

use crate::verdict::{Judgement, Verdict};
use claims::limit::{Limit, LimitError, Requirement};
use serde::{Deserialize, Serialize};

/// The outcome of a step, ordered by severity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepVerdict {
    /// The run shows that each limit holds.
    Pass,
    /// The run has no limit, so nothing is passed.
    Measured,
    NotEnoughData,
    /// The run cannot be judged by one of its limits.
    NoVerdict,
    /// There is no measurement to judge. That shows nothing about any limit.
    Error,
    /// The run shows that a limit is broken.
    Fail,
}

impl StepVerdict {
    /// The verdict of a step with a `valid` run, from the judgement of each limit.
    pub fn of(valid: bool, judgements: &[Judgement]) -> Self {
        if !valid {
            return Self::Error;
        }
        match judgements.iter().map(|judgement| judgement.verdict).max() {
            None => Self::Measured,
            Some(Verdict::Pass) => Self::Pass,
            Some(Verdict::NotEnoughData) => Self::NotEnoughData,
            Some(Verdict::NoVerdict) => Self::NoVerdict,
            Some(Verdict::Fail) => Self::Fail,
        }
    }

    /// The verdict of several steps: the most severe. Without any step it is an error.
    pub fn of_all(steps: impl IntoIterator<Item = Self>) -> Self {
        steps.into_iter().max().unwrap_or(Self::Error)
    }

    pub fn words(self) -> &'static str {
        match self {
            Self::Pass => "PASS",
            Self::Measured => "measured",
            Self::NotEnoughData => "NOT ENOUGH DATA",
            Self::NoVerdict => "NO VERDICT",
            Self::Error => "ERROR",
            Self::Fail => "FAIL",
        }
    }
}

/// The latency over which a run must count samples for its limits to be judged: that of its quantiles, of which a run
/// can count one, otherwise the lowest latency limit, over which each sample is kept as evidence.
///
/// # Errors
/// [`LimitError::TwoLatencies`] if the quantiles have different latencies.
pub fn counted_ns(limits: &[Limit]) -> Result<Option<i64>, LimitError> {
    let mut quantiles = limits.iter().filter(|limit| matches!(limit.requirement, Requirement::Quantile { .. }));
    let latest_ns = |limit: &Limit| match limit.requirement {
        Requirement::Latency { latest_ns } | Requirement::Quantile { latest_ns, .. } => Some(latest_ns),
        Requirement::Missed => None,
    };
    let Some(first) = quantiles.next() else { return Ok(limits.iter().filter_map(latest_ns).min()) };
    match quantiles.find(|limit| latest_ns(limit) != latest_ns(first)) {
        None => Ok(latest_ns(first)),
        Some(other) => Err(LimitError::TwoLatencies(first.text.clone(), other.text.clone())),
    }
}

#[cfg(test)]
mod tests {
    use super::StepVerdict::*;
    use super::*;
    use claims::limit::Rate;

    fn judgement(verdict: Verdict) -> Judgement {
        let limit = Limit::parse("missed < 1/h", &Rate::parse("never").unwrap(), |_| Ok::<u64, String>(1)).unwrap();
        Judgement {
            limit,
            confidence: 0.95,
            verdict,
            withheld: None,
            sentence: String::new(),
            cpus: Vec::new(),
            doubts: Vec::new(),
            cautions: Vec::new(),
        }
    }

    #[test]
    fn without_a_limit_nothing_is_passed_and_an_error_is_no_failure() {
        assert_eq!(StepVerdict::of(true, &[]), Measured);
        assert_eq!(StepVerdict::of(false, &[]), Error);
        assert_eq!(StepVerdict::of(false, &[judgement(Verdict::Fail)]), Error);
        assert_eq!(StepVerdict::of(true, &[judgement(Verdict::Pass)]), Pass);
    }

    #[test]
    fn one_latency_is_counted_and_quantiles_choose_it() {
        let allow = Rate::parse("1/h").unwrap();
        let limits = |texts: &[&str]| {
            let limit = |text: &&str| Limit::parse(text, &allow, |bound| bound.parse().map_err(|_| String::new()));
            counted_ns(&texts.iter().map(|text| limit(text).unwrap()).collect::<Vec<_>>())
        };
        assert_eq!(limits(&[]), Ok(None));
        assert_eq!(limits(&["missed < 1/h"]), Ok(None));
        assert_eq!(limits(&["latency < 900", "latency <= 500"]), Ok(Some(500)));
        assert_eq!(limits(&["latency < 100", "p99 <= 500", "p99.9 <= 500"]), Ok(Some(500)));
        assert_eq!(
            limits(&["p99 < 100", "p99.9 < 200"]),
            Err(LimitError::TwoLatencies("p99 < 100".into(), "p99.9 < 200".into()))
        );
    }

    #[test]
    fn the_gravest_counts() {
        let all = [Verdict::Pass, Verdict::NotEnoughData, Verdict::NoVerdict, Verdict::Fail].map(judgement);
        let verdicts: Vec<StepVerdict> = (1..=4).map(|many| StepVerdict::of(true, &all[..many])).collect();
        assert_eq!(verdicts, [Pass, NotEnoughData, NoVerdict, Fail]);
        assert_eq!(StepVerdict::of_all([Pass, Measured]), Measured, "a step without a limit passes nothing");
        assert_eq!(StepVerdict::of_all([Error, NotEnoughData, Pass]), Error);
        assert_eq!(StepVerdict::of_all([Error, Fail]), Fail);
        assert_eq!(StepVerdict::of_all([]), Error);
    }
}
