//! How far a step got.

use archive::manifest::RunState;
use archive::summary::RunSummary;
use serde::Serialize;

/// The state of a step according to its newest archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StepState {
    /// It has a complete and valid run and need not be repeated.
    Done,
    /// Its run broke, or its numbers must not be used.
    Failed,
    /// Its run was stopped early, or cut off.
    Stopped,
    NotRun,
}

impl StepState {
    /// The state of a step with such a run.
    pub fn of(summary: &RunSummary) -> Self {
        match summary.state {
            RunState::Complete if summary.valid => Self::Done,
            RunState::Running | RunState::Interrupted => Self::Stopped,
            RunState::Complete | RunState::Failed => Self::Failed,
        }
    }
}
