//! An archive as one stream, to send it: a tar file of the strictest kind, ustar with regular files alone.
//!
//! `tar --format=ustar` and most libraries write such a stream, and every `tar` reads it. Names are in byte order and each
//! occurs once, so that a set of files has one stream. [`PackedWriter`] writes one, [`PackedReader`] reads one from an untrusted
//! source: it keeps one block in memory, and refuses everything that an archive cannot contain.

mod header;
mod reading;
mod writing;

pub use reading::PackedReader;
pub use writing::{PackedWriter, packed_bytes};

use std::io;
use thiserror::Error;

const BLOCK: usize = 512;
/// Blocks of zeros at the end.
const END_BLOCKS: u64 = 2;
/// Longest name; those of an archive have a third of that.
pub const NAME_BYTES_MAX: usize = 100;
/// A header has room for eleven octal digits.
pub const FILE_BYTES_MAX: u64 = 0o777_7777_7777;

/// A file of the stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackedFile {
    /// Relative to the archive.
    pub name: String,
    /// As declared by the header, and present in the stream.
    pub bytes: u64,
}

/// Most bytes that are read of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PackedLimits {
    pub files_max: usize,
    /// Of all files, as declared.
    pub bytes_max: u64,
}

/// Why a stream is not read, or not written. Completes "failed to read it: ...".
#[derive(Debug, Error)]
pub enum PackedError {
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("it ends in the middle")]
    Cut,
    #[error("{0} at the place of a header; write it with `tar --format=ustar`")]
    NoHeader(&'static str),
    #[error("{name:?} is {kind}; an archive has regular files alone")]
    Kind { name: String, kind: &'static str },
    #[error("{0:?} is not a name inside an archive")]
    Name(String),
    #[error("{name:?} comes after {before:?}; names are in byte order, each once")]
    Order { before: String, name: String },
    #[error("{name:?} has {bytes} bytes, and {bytes_max} are left for it")]
    TooLarge { name: String, bytes: u64, bytes_max: u64 },
    #[error("it has more than {files_max} files")]
    TooMany { files_max: usize },
    #[error("the space after {0:?} is not empty")]
    Padding(String),
    #[error("something follows its end")]
    AfterEnd,
    #[error("{0:?} changed while it was read")]
    Changed(String),
}

/// Whether a name is one inside of an archive, written in the one way that there is for it.
fn is_name(name: &str) -> bool {
    (1..=NAME_BYTES_MAX).contains(&name.len())
        && !name.chars().any(char::is_control)
        && name.split('/').all(|part| !matches!(part, "" | "." | ".."))
}

/// Zeros that fill the last block of a file.
fn padding(bytes: u64) -> usize {
    (bytes.next_multiple_of(BLOCK as u64) - bytes) as usize
}

/// Checks that a name is one, and comes after the one before it.
fn check_name(name: &str, before: Option<&str>) -> Result<(), PackedError> {
    if !is_name(name) {
        return Err(PackedError::Name(name.to_owned()));
    }
    match before.filter(|before| *before >= name) {
        Some(before) => Err(PackedError::Order { before: before.to_owned(), name: name.to_owned() }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
