//! Why fio made no result.

use std::io;
use std::process::ExitStatus;
use thiserror::Error;

#[derive(Debug, Error)]
pub enum FioFailure {
    #[error("fio could not be started ({0})")]
    NotStarted(io::Error),
    #[error("the run ended before fio had started its jobs; make it longer (--duration)")]
    EndedBeforeItsJobs,
    #[error("fio failed ({status}): {said}")]
    Exit { status: ExitStatus, said: String },
    #[error("fio left no result ({0})")]
    NoResult(io::Error),
    #[error("fio's result is not readable")]
    Unreadable,
    #[error("job {job} failed: {source}")]
    Job { job: String, source: io::Error },
}
