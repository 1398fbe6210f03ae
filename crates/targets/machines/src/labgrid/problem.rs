//! Problems of preparing a place of a lab.

use archive::problem::Problem;
use thiserror::Error;

/// A problem of preparing a place.
#[derive(Debug, Clone, PartialEq, Eq, Error, Problem)]
pub enum PlaceProblem {
    /// It was already acquired, and stays acquired.
    #[error("you had acquired place {place} before, so it is not released")]
    #[problem(
        code = "machine.place-kept",
        meaning = "You had acquired the labgrid place before, so it stays acquired after the run.",
        fix = "when you are done with it: {release}",
        documented_fix = "Release it with labgrid-client when you are done."
    )]
    Kept { place: String, release: String },
}
