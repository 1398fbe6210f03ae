//! Why a recording cannot be read. The texts complete "failed to explain NAME: ".

use evidence::problem::Refusal;
use ftrace::tracefs::TracefsError;
use std::io;
use thiserror::Error;

/// Why there are no bytes of a recording.
#[derive(Debug, Error)]
pub enum Unreadable {
    #[error(transparent)]
    File(#[from] io::Error),
    #[error("it is larger than {} MiB; record a shorter time", .bytes_max >> 20)]
    TooLarge { bytes_max: u64 },
    #[error("no file to unpack it into: {0}")]
    NoRoom(io::Error),
    #[error("failed to unpack it: {0}")]
    DiskFull(io::Error),
    #[error(transparent)]
    Refused(#[from] Refusal),
    #[error("failed to {0}")]
    Tracefs(#[from] TracefsError),
    #[error("there is no trace instance of this name on this machine; it has {}", if .others.is_empty() { "none".to_owned() } else { .others.join(", ") })]
    NoInstance { others: Vec<String> },
}
