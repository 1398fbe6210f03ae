//! A part of a spool's contents, and whether more will come.

use super::ledger::{self, End};
use super::store;
use std::io;
use std::path::Path;
use thiserror::Error;

/// The bytes are not available, now or later.
#[derive(Debug, Error)]
pub enum StretchError {
    #[error("there is no spool here: the host has fetched its results, or their time is over")]
    NoSpool,
    #[error("the bytes from {0} on were fetched before, and are not kept twice")]
    Fetched(u64),
    #[error("failed to read the spool: {0}")]
    Read(io::Error),
}

/// Bytes from an offset on.
#[derive(Debug)]
pub struct Stretch {
    /// Fewer than requested at the end, none if there are none yet.
    pub bytes: Vec<u8>,
    /// Number of bytes ever written to the spool.
    pub written: u64,
    pub end: Option<End>,
}

/// Reads at most `bytes_max` bytes of the spool in this directory.
///
/// # Errors
/// [`StretchError`].
pub fn read(place: &Path, offset: u64, bytes_max: usize) -> Result<Stretch, StretchError> {
    let spool = ledger::directory(place);
    if !spool.is_dir() {
        return Err(StretchError::NoSpool);
    }
    // The end is checked first: no bytes can come after it.
    let end = ledger::end(&spool, || store::written(&spool));
    match store::read_at(&spool, offset, bytes_max) {
        Ok(bytes) => Ok(Stretch { bytes, written: store::written(&spool), end }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(StretchError::Fetched(offset)),
        Err(error) => Err(StretchError::Read(error)),
    }
}
