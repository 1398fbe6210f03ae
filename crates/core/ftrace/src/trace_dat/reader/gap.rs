//! A part that a file should contain but does not.

use std::fmt;
use std::io::ErrorKind;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Gap {
    /// The bytes do not start like a trace.dat file.
    NotATrace,
    /// The file, or a part of it, ends too early.
    Missing { part: String, bytes: u64 },
    /// The part is there but invalid.
    Corrupt { part: String, why: &'static str },
    /// An I/O error occurred; the data there counts as missing.
    Unreadable { error: ErrorKind },
    /// Valid, but not supported by this reader.
    Unsupported { what: String },
}

impl Gap {
    pub(super) fn missing(part: impl Into<String>, bytes: u64) -> Gap {
        Gap::Missing { part: part.into(), bytes }
    }
}

impl fmt::Display for Gap {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Gap::NotATrace => write!(formatter, "this is not a trace.dat file"),
            Gap::Missing { part, bytes } => write!(formatter, "{part}: at least {bytes} bytes are missing"),
            Gap::Corrupt { part, why } => write!(formatter, "{part}: {why}"),
            Gap::Unreadable { error } => write!(formatter, "a part of the file could not be read: {error}"),
            Gap::Unsupported { what } => write!(formatter, "{what} is not supported"),
        }
    }
}
