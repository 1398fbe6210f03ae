//! Errors that end the meter's service on a console.

use crate::spool::stretch::StretchError;
use std::io;
use thiserror::Error;

#[derive(Debug, Error)]
pub enum ConsoleError {
    #[error("the host has asked nothing for {seconds} s")]
    Idle { seconds: u64 },
    #[error("the console was closed")]
    Closed,
    #[error("failed to write to the console: {0}")]
    Write(io::Error),
    #[error("another host has opened the console")]
    Replaced,
    #[error(transparent)]
    Stretch(#[from] StretchError),
}
