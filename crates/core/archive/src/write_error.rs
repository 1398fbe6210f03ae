//! Why an archive could not be written, and how to fix it.

use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// Why an archive could not be written.
#[derive(Debug, Error)]
pub enum WriteError {
    #[error("failed to create the archive: {0} exists already; choose another --out or remove it")]
    Exists(PathBuf),
    #[error("failed to write {path}: {source}{}", fix(.source))]
    Io { path: PathBuf, source: io::Error },
}

fn fix(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "; free some space or choose another --out",
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => "; choose a writable --out",
        _ => "",
    }
}
