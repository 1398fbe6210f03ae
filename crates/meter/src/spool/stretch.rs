//! A stretch of what a spool holds, and whether more will come.

use super::ledger::{self, End};
use super::store;
use std::io;
use std::path::Path;

/// Bytes from an offset on.
#[derive(Debug)]
pub struct Stretch {
    /// Fewer than asked for where they end, none where there are none yet.
    pub bytes: Vec<u8>,
    /// Bytes ever written to the spool.
    pub written: u64,
    pub end: Option<End>,
}

/// Reads at most so many bytes of the spool in this place.
///
/// # Errors
/// A sentence: they cannot be had, now or later.
pub fn read(place: &Path, offset: u64, bytes_max: usize) -> Result<Stretch, String> {
    let spool = ledger::directory(place);
    if !spool.is_dir() {
        return Err("there is no spool here: its results were fetched, or thrown away after their time".into());
    }
    // The end is looked for first: bytes that come after it do not exist.
    let end = ledger::end(&spool, || store::written(&spool));
    match store::read_at(&spool, offset, bytes_max) {
        Ok(bytes) => Ok(Stretch { bytes, written: store::written(&spool), end }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err(format!("the bytes from {offset} on were fetched before, and are not kept twice"))
        }
        Err(error) => Err(format!("failed to read the spool: {error}")),
    }
}
