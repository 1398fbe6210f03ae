//! Why the state of a machine was not saved or loaded.

use super::super::file_error::FileError;
use super::STATES_BYTES_MAX;
use std::io;
use std::path::PathBuf;
use std::time::Duration;
use thiserror::Error;

/// Failures of QEMU's monitor.
#[derive(Debug, Error)]
pub enum MonitorError {
    #[error(transparent)]
    Line(#[from] io::Error),
    #[error("QEMU closed its monitor")]
    Closed,
    #[error("QEMU's monitor sent invalid JSON: {0}")]
    NoJson(#[from] serde_json::Error),
    #[error("QEMU's monitor sent no greeting")]
    NoGreeting,
    /// In the words of QEMU.
    #[error("{}", .0.as_deref().unwrap_or("no reason given"))]
    Refused(Option<String>),
    #[error("unexpected answer")]
    NoAnswer,
    #[error("QEMU did not {command}: {source}")]
    Command { command: String, source: Box<MonitorError> },
}

/// Why there is no state, or none that could be restored.
#[derive(Debug, Error)]
pub enum StateError {
    #[error("failed to ask {} for its version: {source}", program.display())]
    Version { program: PathBuf, source: io::Error },
    #[error(transparent)]
    File(#[from] FileError),
    #[error("a machine without a monitor has no state")]
    NoMonitor,
    #[error("failed to listen at {}: {source}", socket.display())]
    NoSocket { socket: PathBuf, source: io::Error },
    #[error(transparent)]
    Monitor(#[from] MonitorError),
    #[error("QEMU sent no state: {0}")]
    NotBrought(io::Error),
    #[error("failed to write a state: {0}")]
    NotWritten(io::Error),
    #[error("a state of this machine has more than {} MB", STATES_BYTES_MAX >> 20)]
    TooLarge,
    #[error("QEMU gave up saving: {}", .0.as_deref().unwrap_or("no reason given"))]
    GivenUp(Option<String>),
    #[error("QEMU did not finish with the state within {} s", limit.as_secs())]
    TooLong { limit: Duration },
    #[error("QEMU failed to read the state: {0}")]
    NotRead(io::Error),
}
