//! Why a run without a connection did not start, or its stream ended.

use super::stretch::StretchError;
use std::io;
use std::path::PathBuf;
use thiserror::Error;

#[derive(Debug, Error)]
pub enum SpoolError {
    #[error("{}", super::USAGE)]
    Usage,
    #[error("failed to read the settings: {0}")]
    ReadSettings(io::Error),
    #[error("failed to make {}: {error}; results that were not fetched may be in it", .spool.display())]
    MakeDirectory { spool: PathBuf, error: io::Error },
    #[error("failed to make a spool in {}: {error}", .spool.display())]
    MakeSpool { spool: PathBuf, error: io::Error },
    #[error("failed to start a spooler: {0}")]
    StartSpooler(io::Error),
    /// In the words of the spooler.
    #[error("the spooler did not start: {0}")]
    SpoolerRefused(String),
    #[error("failed to receive signals: {0}")]
    Signals(io::Error),
    #[error("failed to start the meter: {0}")]
    StartMeter(io::Error),
    #[error("the meter has no standard output")]
    NoOutput,
    #[error("failed to open /dev/null: {0}")]
    Null(io::Error),
    #[error("the host closed the line")]
    HostGone,
    #[error("failed to write to the host: {0}")]
    WriteToHost(io::Error),
    #[error(transparent)]
    Stretch(#[from] StretchError),
}
