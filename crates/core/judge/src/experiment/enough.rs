//! How many rounds it takes until every figure of an experiment can be shown to differ.

use super::{MetricResult, Stopping};
use crate::e_process::evidence;
use crate::sign_flip::PAIRS_MAX;
use claims::experiment::ErrorParts;
use claims::figure_name::FigureName;

/// Least number of rounds in which equal signs show a change of every figure; `others` beside the primary one. `None` if
/// more than [`PAIRS_MAX`].
pub fn rounds_needed(others: usize, confidence: f64, stopping: Stopping) -> Option<u32> {
    let level = (1.0 - confidence) * ErrorParts::of(others).other;
    (1..=PAIRS_MAX).find(|rounds| least_p(*rounds, stopping) <= level + 1e-12).map(|rounds| rounds as u32)
}

/// The smallest p-value that this number of rounds can give.
fn least_p(rounds: usize, stopping: Stopping) -> f64 {
    match stopping {
        Stopping::FixedRounds => 2.0 / (rounds as f64).exp2(),
        Stopping::UntilDecided => evidence(&vec![1.0; rounds]).into_iter().fold(1.0, f64::max).recip(),
    }
}

/// Which figures a number of rounds can show.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Enough {
    pub primary: bool,
    pub others: bool,
    pub rounds_needed: Option<u32>,
}

impl Enough {
    pub fn of(rounds: usize, others: usize, confidence: f64, stopping: Stopping) -> Self {
        let parts = ErrorParts::of(others);
        let shows = |part: f64| least_p(rounds, stopping) <= part * (1.0 - confidence) + 1e-12;
        Self {
            primary: shows(parts.primary),
            others: shows(parts.other),
            rounds_needed: rounds_needed(others, confidence, stopping),
        }
    }

    /// Figures that are not shown to differ, and could not be. A figure that differs leaves its share to the others.
    pub fn not_showable<'a>(&self, rows: &'a [MetricResult]) -> Vec<&'a FigureName> {
        let showable = |at: usize| if at == 0 { self.primary } else { self.others };
        let hidden = rows.iter().enumerate().filter(|(at, row)| !row.differs && !showable(*at));
        hidden.map(|(_, row)| &row.metric.name).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_announced_number_of_rounds_shows_every_figure() {
        let fixed = |others| rounds_needed(others, 0.95, Stopping::FixedRounds);
        assert_eq!([0, 1, 4, 8].map(fixed), [Some(6), Some(8), Some(10), Some(11)]);
        assert_eq!(rounds_needed(4, 0.99999999, Stopping::FixedRounds), None);
        let looking = |others| rounds_needed(others, 0.95, Stopping::UntilDecided);
        assert_eq!([0, 4].map(looking), [Some(7), Some(12)]);
        let nine = Enough::of(9, 4, 0.95, Stopping::FixedRounds);
        assert_eq!((nine.primary, nine.others, nine.rounds_needed), (true, false, Some(10)));
    }
}
