//! Requirements of a program that a target does not meet.

use thiserror::Error;

/// A requirement of a program's options that the target does not meet.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Unusable {
    #[error("{what} is named by its whole path on the target, not by {path}")]
    RelativePath { what: &'static str, path: String },
    #[error("there is no {what} {path} on the target")]
    NoFile { what: &'static str, path: String },
    #[error("fio has no pattern {pattern}: it has {known}; a job file is named by its whole path")]
    NoPattern { pattern: String, known: String },
    #[error("there is no source tree with a Makefile at {path} on the target")]
    NoSourceTree { path: String },
    /// Seconds of an idle load would be part of each round.
    #[error(
        "rt-app would spend the first seconds of every round asleep, calibrating itself; run it once, and put the \
         nanoseconds that it prints behind pLoad as \"calibration\" into \"global\" in {path}"
    )]
    NotCalibrated { path: String },
}
