//! The state of a run, of a load and of a board: one vocabulary for pages, API, metrics and the command line.

use judge::step::StepVerdict;
use serde::{Deserialize, Serialize};

/// State of a kernel on a board by one run; of several, the larger one counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// It shows neither.
    #[default]
    Undecided,
    /// It passed its limits, or exceeded none of those it counted.
    Good,
    /// It failed a limit, or exceeded the one it counted.
    Bad,
}

impl Standing {
    pub const ALL: [Self; 3] = [Self::Bad, Self::Good, Self::Undecided];

    /// As on pages, on the command line, in metrics and in documents.
    pub fn word(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Bad => "bad",
            Self::Undecided => "undecided",
        }
    }

    /// `limited`: the run counted samples over a limit; `over_limit` of them were.
    pub fn of(verdict: StepVerdict, limited: bool, over_limit: u64) -> Self {
        match verdict {
            StepVerdict::Pass => Self::Good,
            StepVerdict::Fail => Self::Bad,
            StepVerdict::Measured if limited && over_limit == 0 => Self::Good,
            StepVerdict::Measured if limited => Self::Bad,
            _ => Self::Undecided,
        }
    }

    /// Why a run with this verdict is undecided; `None` if it is not.
    pub fn undecided_because(self, verdict: StepVerdict) -> Option<&'static str> {
        match (self, verdict) {
            (Self::Good | Self::Bad, _) => None,
            (_, StepVerdict::NotEnoughData) => Some("not enough data"),
            (_, StepVerdict::Error) => Some("not measured"),
            (_, StepVerdict::NoVerdict) => Some("not judged"),
            (_, StepVerdict::Pass | StepVerdict::Measured | StepVerdict::Fail) => Some("no limit"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_word_of_a_standing_is_the_one_in_documents() {
        for standing in Standing::ALL {
            assert_eq!(serde_json::to_value(standing).unwrap(), standing.word());
        }
    }

    #[test]
    fn a_board_is_as_bad_as_the_worst_of_its_loads() {
        assert_eq!([Standing::Good, Standing::Bad, Standing::Undecided].into_iter().max(), Some(Standing::Bad));
        assert_eq!([Standing::Good, Standing::Undecided].into_iter().max(), Some(Standing::Good));
    }

    #[test]
    fn only_an_undecided_run_has_a_reason() {
        let because = |verdict, limited| Standing::of(verdict, limited, 0).undecided_because(verdict);
        assert_eq!(because(StepVerdict::Measured, true), None);
        assert_eq!(because(StepVerdict::Measured, false), Some("no limit"));
        assert_eq!(because(StepVerdict::NotEnoughData, true), Some("not enough data"));
        assert_eq!(because(StepVerdict::Error, true), Some("not measured"));
    }

    #[test]
    fn a_run_without_a_limit_or_without_data_shows_nothing() {
        assert_eq!(Standing::of(StepVerdict::Pass, true, 3), Standing::Good, "the limit allowed them");
        assert_eq!(Standing::of(StepVerdict::Fail, true, 3), Standing::Bad);
        assert_eq!(Standing::of(StepVerdict::Measured, true, 0), Standing::Good);
        assert_eq!(Standing::of(StepVerdict::Measured, true, 1), Standing::Bad);
        for verdict in [StepVerdict::NotEnoughData, StepVerdict::NoVerdict, StepVerdict::Error] {
            assert_eq!(Standing::of(verdict, true, 1), Standing::Undecided);
        }
        assert_eq!(Standing::of(StepVerdict::Measured, false, 0), Standing::Undecided);
    }
}
