//! A file or directory of the host that a virtual machine needs and that could not be used.

use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// A file or directory of the host that could not be used.
#[derive(Debug, Error)]
#[error("failed to {act} {}: {source}", path.display())]
pub struct FileError {
    /// The failed operation, such as `read`.
    pub act: &'static str,
    pub path: PathBuf,
    pub source: io::Error,
}

impl FileError {
    /// Wraps an error of reading this file.
    pub fn reading(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        Self::of("read", path)
    }

    /// Wraps an error of writing this file.
    pub fn writing(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        Self::of("write", path)
    }

    /// Wraps an error of another operation on this file.
    pub fn of(act: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self { act, path, source }
    }
}
