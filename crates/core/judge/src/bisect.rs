//! Search for the first bad candidate of an ordered list: what to check next, what a step shows, and the confidence
//! that each step needs for the whole search to reach the requested one.

use crate::experiment::{Enough, ExperimentResult, Outcome, Stopping};
use crate::sign_flip::PAIRS_MAX;
use crate::verdict::Verdict;
use serde::{Deserialize, Serialize};

/// The result of a step for one candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepVerdict {
    Good,
    Bad,
    /// The candidate could not be measured, or its figures show neither.
    Untestable,
}

impl StepVerdict {
    pub fn words(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Bad => "BAD",
            Self::Untestable => "cannot be tested",
        }
    }
}

/// State of the search. Numbers are indices into the list; 0 is the good end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    Check(usize),
    /// Every tested candidate before it is good.
    FirstBad(usize),
    /// The first bad candidate is one of these, in order; all but the last cannot be tested.
    Suspects(Vec<usize>),
    /// An end of the list is not what the caller says it is, so there is nothing to search for.
    WrongEnd(usize, StepVerdict),
}

/// The next step. `verdicts` has one entry per candidate, the good end first.
pub fn next(verdicts: &[Option<StepVerdict>]) -> Next {
    let Some(last) = verdicts.len().checked_sub(1) else { return Next::Suspects(Vec::new()) };
    for (end, expected) in [(0, StepVerdict::Good), (last, StepVerdict::Bad)] {
        match verdicts[end] {
            None => return Next::Check(end),
            Some(verdict) if verdict != expected => return Next::WrongEnd(end, verdict),
            Some(_) => {}
        }
    }
    let bad = verdicts.iter().position(|verdict| *verdict == Some(StepVerdict::Bad)).unwrap_or(last);
    let good = verdicts[..bad].iter().rposition(|verdict| *verdict == Some(StepVerdict::Good)).unwrap_or(0);
    if bad == good + 1 {
        return Next::FirstBad(bad);
    }
    let middle = good + (bad - good) / 2;
    let untested = (good + 1..bad).filter(|at| verdicts[*at].is_none());
    match untested.min_by_key(|at| at.abs_diff(middle)) {
        Some(at) => Next::Check(at),
        None => Next::Suspects((good + 1..=bad).collect()),
    }
}

/// Most steps that a search of this number of candidates takes if all can be tested, including both ends.
pub fn steps_most(candidates: usize) -> u32 {
    match candidates.saturating_sub(1) {
        0 => 1,
        between => 2 + between.next_power_of_two().trailing_zeros(),
    }
}

/// Confidence that each of `steps` steps needs for all of them to be right at `confidence` (Bonferroni).
pub fn step_confidence(confidence: f64, steps: u32) -> f64 {
    1.0 - (1.0 - confidence) / f64::from(steps.max(1))
}

/// Fewest rounds for the primary figure of an experiment at this confidence: with fewer, no pattern of signs is rare
/// enough.
pub fn rounds_least(confidence: f64) -> u32 {
    let enough = |rounds: &usize| Enough::of(*rounds, 1, confidence, Stopping::FixedRounds).primary;
    (1..=PAIRS_MAX).find(enough).unwrap_or(PAIRS_MAX + 1) as u32
}

/// The meaning of a verdict about a limit for a step.
pub fn of_verdict(verdict: Verdict) -> StepVerdict {
    match verdict {
        Verdict::Pass => StepVerdict::Good,
        Verdict::Fail => StepVerdict::Bad,
        Verdict::NotEnoughData | Verdict::NoVerdict => StepVerdict::Untestable,
    }
}

/// The result of an experiment of the good end against a candidate. `worse_at_least` is the lower bound of the factor by
/// which the bad end is worse; a candidate shown to be less worse than that does not contain the change.
pub fn of_experiment(result: &ExperimentResult, worse_at_least: Option<f64>) -> (StepVerdict, String) {
    let sentence = &result.sentence;
    // A step looks for what makes the bad end worse, and that is mostly the primary figure.
    let shows_primary = !result.not_showable.contains(&result.primary.metric.name);
    let outcome = match result.outcome {
        Outcome::TooFewRounds if shows_primary => Outcome::NoDifferenceFound,
        outcome => outcome,
    };
    let upper = result.primary.ratio.as_ref().and_then(|ratio| ratio.interval).map(|interval| interval.high);
    match (outcome, worse_at_least, upper) {
        (Outcome::Worse, ..) => (StepVerdict::Bad, sentence.clone()),
        (Outcome::Better, ..) => (StepVerdict::Good, sentence.clone()),
        (Outcome::TooFewRounds | Outcome::Undecided, ..) => (StepVerdict::Untestable, sentence.clone()),
        (Outcome::NoDifferenceFound, Some(worse), Some(upper)) if upper >= worse => {
            let text = words::claims::bisect::may_still_be_worse(sentence, upper, worse);
            (StepVerdict::Untestable, text)
        }
        (Outcome::NoDifferenceFound, ..) => (StepVerdict::Good, sentence.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Searches a list whose truth is known. Returns the end of the search and its number of steps.
    fn search(truth: &[StepVerdict]) -> (Next, u32) {
        let mut verdicts = vec![None; truth.len()];
        for steps in 0.. {
            match next(&verdicts) {
                Next::Check(at) => {
                    assert_eq!(verdicts[at], None, "nothing is tested twice");
                    verdicts[at] = Some(truth[at]);
                }
                end => return (end, steps),
            }
        }
        unreachable!()
    }

    #[test]
    fn ends_that_are_not_what_they_are_said_to_be_end_it() {
        use StepVerdict::{Bad, Good, Untestable};
        assert_eq!(search(&[Bad, Bad, Bad]), (Next::WrongEnd(0, Bad), 1));
        assert_eq!(search(&[Good, Good, Good]), (Next::WrongEnd(2, Good), 2));
        assert_eq!(search(&[Good, Untestable]), (Next::WrongEnd(1, Untestable), 2));
        assert_eq!(search(&[Good, Bad]), (Next::FirstBad(1), 2));
    }

    #[test]
    fn untestable_candidates_are_skipped_and_stay_suspect() {
        use StepVerdict::{Bad, Good, Untestable};
        let list = [Good, Good, Untestable, Untestable, Bad, Bad];
        assert_eq!(search(&list).0, Next::Suspects(vec![2, 3, 4]));
        assert_eq!(search(&[Good, Untestable, Good, Bad, Bad, Bad]).0, Next::FirstBad(3));
    }

    #[test]
    fn the_error_is_shared_out() {
        assert_eq!([2, 3, 9, 10, 1000].map(steps_most), [2, 3, 5, 6, 12]);
        assert!((step_confidence(0.95, 5) - 0.99).abs() < 1e-12);
        assert_eq!([0.95, 0.9875, step_confidence(0.95, 100)].map(rounds_least), [6, 8, 13]);
    }

    proptest! {
        #[test]
        fn the_first_bad_one_is_found_in_as_many_steps_as_promised(count in 2usize..300, share in 0.0f64..1.0) {
            let first = 1 + ((count - 1) as f64 * share) as usize;
            let truth: Vec<StepVerdict> =
                (0..count).map(|at| if at < first { StepVerdict::Good } else { StepVerdict::Bad }).collect();
            let (end, steps) = search(&truth);
            prop_assert_eq!(end, Next::FirstBad(first));
            prop_assert!(steps <= steps_most(count), "{} of {}", steps, steps_most(count));
        }

        #[test]
        fn with_gaps_the_first_bad_one_is_among_the_suspects(
            count in 3usize..60, share in 0.0f64..1.0, gaps in proptest::collection::vec(any::<bool>(), 60),
        ) {
            let first = 1 + ((count - 1) as f64 * share) as usize;
            let truth: Vec<StepVerdict> = (0..count)
                .map(|at| match at {
                    at if gaps[at] && at > 0 && at < count - 1 => StepVerdict::Untestable,
                    at if at < first => StepVerdict::Good,
                    _ => StepVerdict::Bad,
                })
                .collect();
            match search(&truth).0 {
                Next::FirstBad(found) => prop_assert_eq!(found, first),
                Next::Suspects(suspects) => prop_assert!(suspects.contains(&first)),
                other => prop_assert!(false, "{:?}", other),
            }
        }
    }
}
