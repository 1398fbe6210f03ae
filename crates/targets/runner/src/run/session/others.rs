//! The stimulus board and the other machines of a measurement: they start, report and end with this run.

use super::Session;
use crate::event::{Event, StopReason};
use crate::roles::Others;
use archive::message::{Message, RunPhase};

impl Session<'_> {
    pub(super) fn follow_board(&mut self) {
        let now = self.listened;
        let Some(board) = &mut self.board else { return };
        board.advance(now);
        let is_over = board.is_over();
        self.store_figures_of_board();
        if is_over && std::mem::take(&mut self.holds_request) {
            self.ask_to_stop(StopReason::Requested);
        }
    }

    pub(super) fn finish_board(&mut self) {
        if let Some(board) = &mut self.board {
            board.finish(self.listened);
            self.store_figures_of_board();
        }
    }

    fn store_figures_of_board(&mut self) {
        let Some(board) = &mut self.board else { return };
        if let Some(figures) = board.figures(self.listened) {
            // If the archive cannot be written, the next frame shows it.
            let _ = self.writer.append(&Message::StimulusBoard(Box::new(figures)));
        }
        if let Some(problem) = board.problem() {
            if let Some(loss) = board.unanswered() {
                let _ = self.writer.append(&Message::Loss(loss));
            }
            let _ = self.writer.append(&Message::Problem(problem.clone()));
            (self.watch)(Event::Problem(problem));
        }
    }

    /// The board measures as long as the target does.
    pub(super) fn start_or_stop_board(&mut self, phase: RunPhase) {
        let Some(board) = &mut self.board else { return };
        match phase {
            RunPhase::Measure => board.start(self.listened, self.measured),
            RunPhase::Collect | RunPhase::Restore => board.stop(self.listened),
            _ => {}
        }
    }

    /// Other machines wait for this one.
    pub(super) fn report_to_others(&self, phase: RunPhase) {
        match (self.part, phase) {
            (Some(part), RunPhase::Measure) => part.measures(),
            (Some(part), RunPhase::Collect | RunPhase::Restore) => part.has_measured(),
            _ => {}
        }
    }

    /// Ends the run when other machines end theirs.
    pub(super) fn end_with_others(&mut self) {
        let Some(part) = self.part.filter(|_| self.stopping_since.is_none()) else { return };
        // What has measured ends by itself.
        if matches!(self.phase, Some(RunPhase::Collect | RunPhase::Restore)) || self.facts.ending.is_some() {
            return;
        }
        let others = part.others();
        if others != Others::Measure {
            self.facts.for_others = Some(others);
            self.ask_to_stop(StopReason::OthersEnded);
        }
    }
}
