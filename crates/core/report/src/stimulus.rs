//! Sentences about what an external board measured that gave the stimuli.

use archive::summary::StimulusBoardSummary;
use words::figures::latency;

/// Title of the section.
pub const TITLE: &str = "Measured by the stimulus board";

/// Who measured from where to where, and with which clock.
pub fn whose(board: &StimulusBoardSummary) -> String {
    format!(
        "{} at {}, by the board's own clock: from each edge that it gave, {} after the answer before, until it saw the answering \
         edge.",
        board.board.protocol,
        board.board.address,
        latency(i64::from(board.board.period_us) * 1000),
    )
}

/// The meaning of the run's other figures.
pub const OTHERS: &str = "The figures of the CPUs are the target's own, by the target's clock: they start when its kernel sees the \
                          edge.";

/// The samples that the figures lack.
pub fn reservation(board: &StimulusBoardSummary) -> Option<&'static str> {
    (!board.board.complete)
        .then_some("The board did not end its measurement, so its last answers and its histogram are missing.")
}

/// The meaning of an overrun.
pub const OVERRUNS: &str =
    "An overrun is a stimulus without an answer in time, or a further period that a late answer took.";

#[cfg(test)]
mod tests {
    use super::*;
    use archive::stimulus::{StimulusBoard, StimulusProtocol};
    use archive::summary::LatencyFigures;
    use fixtures::assert_sentence;

    #[test]
    fn it_says_whose_clock_measured_and_what_is_missing() {
        let board = StimulusBoard::without_answers(StimulusProtocol::Latmon, "192.168.1.58:2306".into(), 1000);
        let mut summary = StimulusBoardSummary { board, latency_ns: LatencyFigures::default() };
        let said = whose(&summary);
        assert_sentence!("stimulus-whose", said);
        assert!(reservation(&summary).is_some_and(|said| said.contains("histogram")));
        summary.board.complete = true;
        assert_eq!(reservation(&summary), None);
    }
}
