//! Whether a run is good or bad news about its board.

use judge::step::StepVerdict;
use serde::{Deserialize, Serialize};

/// What a run says about its kernel on its board.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// It passed its limits, or exceeded none of those it counted.
    Good,
    /// It failed a limit, or exceeded the one it counted.
    Bad,
    /// It shows neither.
    Undecided,
}

impl Standing {
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
}

#[cfg(test)]
mod tests {
    use super::*;

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
