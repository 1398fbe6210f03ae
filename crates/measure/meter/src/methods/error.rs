//! Why a method cannot measure.

use crate::journal::JournalError;
use archive::method::Method;
use archive::method::state::Obstacle;
use archive::problem::Problem;
use std::io;
use thiserror::Error;

/// Something is missing, or the kernel rejected it.
#[derive(Debug, Error, Problem)]
pub enum MethodError {
    #[error("the method {method} cannot run here: {}", texts(obstacles))]
    #[problem(
        code = "meter.method-impossible",
        meaning = "The machine lacks something that the method needs.",
        fix_with = fixes(obstacles),
        documented_fix = SHOW_METHOD
    )]
    Impossible { method: Method, obstacles: Vec<Obstacle> },
    #[error("the method {method} failed to {action}: {source}")]
    #[problem(code = "meter.method-refused", meaning = "The kernel refused something that the method needs.", fix = "")]
    Refused { method: Method, action: &'static str, source: io::Error },
    #[error("{why}")]
    #[problem(
        code = "meter.fio-failed",
        meaning = "fio ended with an error, so the run has no samples of its requests, or not all.",
        fix = "run the same job with fio alone; storage/fio.json in the archive has what it reported"
    )]
    FioFailed { why: String },
    #[error("this meter does not know the method {request}, or an option of it")]
    #[problem(
        code = "meter.method-of-another-version",
        meaning = "The host asked for a method, or an option of one, that the meter does not have.",
        fix = "use the meter of the same version as tardy"
    )]
    OfAnotherVersion { request: String },
    #[error(transparent)]
    #[problem(
        code = "meter.method-not-journalled",
        meaning = "A change that the method makes could not be written down first.",
        fix = "set TARDY_STATE_DIR to a directory that can be written"
    )]
    Journal(#[from] JournalError),
}

fn texts(obstacles: &[Obstacle]) -> String {
    obstacles.iter().map(|obstacle| obstacle.text.as_str()).collect::<Vec<_>>().join("; ")
}

fn fixes(obstacles: &[Obstacle]) -> String {
    let mut fixes: Vec<&str> = obstacles.iter().map(|obstacle| obstacle.fix.as_str()).collect();
    fixes.retain(|fix| !fix.is_empty());
    fixes.dedup();
    if fixes.is_empty() { SHOW_METHOD.to_owned() } else { fixes.join("; ") }
}

const SHOW_METHOD: &str = "`tardy list methods NAME` shows what the method needs and what is missing";
