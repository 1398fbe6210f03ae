//! Why a plan in virtual time could not be executed.

use crate::kernel::shared_memory::SharedMemoryError;
use std::io;
use std::path::PathBuf;
use thiserror::Error;

#[derive(Debug, Error)]
pub enum VirtualTimeError {
    #[error("failed to read {}: {error}", .path.display())]
    ReadPlan { path: PathBuf, error: io::Error },
    #[error("failed to understand {}: {error}", .path.display())]
    Plan { path: PathBuf, error: serde_json::Error },
    #[error(transparent)]
    SharedMemory(#[from] SharedMemoryError),
    #[error("failed to start the meter: {0}")]
    StartMeter(io::Error),
    #[error("failed to send the meter its settings: {0}")]
    SendSettings(io::Error),
    #[error("failed to pass the meter's stream on: {0}")]
    PassStream(io::Error),
    #[error("failed to wait for the meter: {0}")]
    AwaitMeter(io::Error),
    #[error("failed to send the names of the kernel's functions: {0}")]
    SendSymbols(io::Error),
}
