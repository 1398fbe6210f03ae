//! The state of a run, of a load and of a board: one vocabulary for pages, API, metrics and the command line.

use archive::summary::CountedLimit;
use judge::step::StepVerdict;
use serde::{Deserialize, Serialize};
use words::vocabulary::counted_limit;

/// State of a kernel on a board by one run; of several, the larger one counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// It shows none of the others.
    #[default]
    Undecided,
    /// It passed the limits of its plan.
    Good,
    /// It exceeded no limit, and does not prove that it never will.
    Held,
    /// It failed a limit, or exceeded the one it counted.
    Bad,
}

impl Standing {
    pub const ALL: [Self; 4] = [Self::Bad, Self::Held, Self::Good, Self::Undecided];
    /// The side from which a load turns bad.
    pub(crate) const NOT_BAD: [Self; 2] = [Self::Good, Self::Held];

    /// As on pages, on the command line, in metrics and in documents.
    pub fn word(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Held => counted_limit(CountedLimit::Held),
            Self::Bad => "bad",
            Self::Undecided => "undecided",
        }
    }

    /// The meaning of the word, beside it.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Good => "passed the limits of its plan",
            Self::Held => "exceeded no limit; the samples do not prove more",
            Self::Bad => "exceeded a limit",
            Self::Undecided => "shows nothing about a limit",
        }
    }

    /// By the limits of a run's plan, and by the limit that it counted.
    pub fn of(verdict: StepVerdict, limit: Option<CountedLimit>) -> Self {
        match (verdict, limit) {
            (StepVerdict::Pass, _) => Self::Good,
            (StepVerdict::Fail, _) | (StepVerdict::Measured, Some(CountedLimit::Exceeded)) => Self::Bad,
            (StepVerdict::Measured | StepVerdict::NotEnoughData, Some(CountedLimit::Held)) => Self::Held,
            _ => Self::Undecided,
        }
    }

    /// Whether a run with this state is on the side from which a load turns bad.
    pub fn is_not_bad(self) -> bool {
        Self::NOT_BAD.contains(&self)
    }

    /// Why a run with this verdict and this limit is undecided; `None` if it is not.
    pub fn undecided_because(self, verdict: StepVerdict, limit_ns: Option<i64>) -> Option<&'static str> {
        match (self, verdict) {
            (Self::Good | Self::Held | Self::Bad, _) => None,
            (_, StepVerdict::NotEnoughData) => Some("not enough data"),
            (_, StepVerdict::Error) => Some("not measured"),
            (_, StepVerdict::NoVerdict) => Some("not judged"),
            (_, StepVerdict::Pass | StepVerdict::Measured | StepVerdict::Fail) if limit_ns.is_some() => {
                Some("no sample")
            }
            (_, StepVerdict::Pass | StepVerdict::Measured | StepVerdict::Fail) => Some("no limit"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use account::{Account, ExplanationSource};
    use archive::manifest::{Manifest, RunState};
    use archive::reader::{Run, ThreadRun};
    use archive::sample::Totals;
    use archive::settings::RunSettings;
    use std::collections::BTreeMap;

    #[test]
    fn the_word_of_a_standing_is_the_one_in_documents() {
        for standing in Standing::ALL {
            assert_eq!(serde_json::to_value(standing).unwrap(), standing.word());
        }
    }

    #[test]
    fn a_board_is_as_bad_as_the_worst_of_its_loads() {
        let worst = |of: &[Standing]| of.iter().copied().max();
        assert_eq!(worst(&[Standing::Good, Standing::Bad, Standing::Undecided]), Some(Standing::Bad));
        assert_eq!(worst(&[Standing::Good, Standing::Undecided]), Some(Standing::Good));
        assert_eq!(worst(&[Standing::Good, Standing::Held]), Some(Standing::Held), "not every load passed");
    }

    #[test]
    fn only_an_undecided_run_has_a_reason() {
        let because = |verdict, limit: Option<CountedLimit>, limit_ns| {
            Standing::of(verdict, limit).undecided_because(verdict, limit_ns)
        };
        assert_eq!(because(StepVerdict::Measured, Some(CountedLimit::Held), Some(1)), None);
        assert_eq!(because(StepVerdict::Measured, None, None), Some("no limit"));
        assert_eq!(because(StepVerdict::Measured, None, Some(1)), Some("no sample"));
        assert_eq!(because(StepVerdict::NotEnoughData, Some(CountedLimit::Exceeded), Some(1)), Some("not enough data"));
        assert_eq!(because(StepVerdict::Error, None, Some(1)), Some("not measured"));
    }

    #[test]
    fn a_limit_that_was_not_exceeded_is_held_and_only_a_judged_one_is_good() {
        let (held, exceeded) = (Some(CountedLimit::Held), Some(CountedLimit::Exceeded));
        assert_eq!(Standing::of(StepVerdict::Pass, exceeded), Standing::Good, "the limit allowed them");
        assert_eq!(Standing::of(StepVerdict::Fail, held), Standing::Bad, "another limit failed");
        assert_eq!(Standing::of(StepVerdict::Measured, held), Standing::Held);
        assert_eq!(Standing::of(StepVerdict::Measured, exceeded), Standing::Bad);
        assert_eq!(Standing::of(StepVerdict::NotEnoughData, held), Standing::Held, "as without a plan");
        for verdict in [StepVerdict::NotEnoughData, StepVerdict::NoVerdict, StepVerdict::Error] {
            assert_eq!(Standing::of(verdict, exceeded), Standing::Undecided);
        }
        for verdict in [StepVerdict::Measured, StepVerdict::NotEnoughData] {
            assert_eq!(Standing::of(verdict, None), Standing::Undecided);
        }
    }

    #[test]
    fn a_run_without_samples_or_in_progress_holds_nothing() {
        let limit = |cycles: u64, over_limit: u64, goes_on: bool| {
            let thread =
                ThreadRun { totals: Totals { cycles, over_limit, ..Totals::default() }, ..ThreadRun::default() };
            let settings = Some(RunSettings { limit_ns: Some(1_000_000), ..RunSettings::default() });
            let state = if goes_on { RunState::Running } else { RunState::Complete };
            let manifest =
                Manifest { state, settings, ..Manifest::new("invented", env!("CARGO_PKG_VERSION"), "local") };
            let run =
                Run { threads: BTreeMap::from([(0, thread)]), manifest: Some(manifest), goes_on, ..Run::default() };
            let mut summary = Account::of(run, ExplanationSource::Stored).summary().clone();
            // The invented run has no ending, which is not the question here.
            summary.valid = true;
            CountedLimit::of(&summary)
        };
        assert_eq!(limit(1000, 0, false), Some(CountedLimit::Held));
        assert_eq!(limit(1000, 1, false), Some(CountedLimit::Exceeded));
        assert_eq!(limit(0, 0, false), None);
        assert_eq!(limit(1000, 0, true), None, "it may exceed it yet");
        assert_eq!(limit(1000, 1, true), Some(CountedLimit::Exceeded));
    }
}
