//! Why the store could not do something.

use crate::refused::Refused;
use archive::reader::OpenError;
use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// `serialization_failure`, `deadlock_detected`, `unique_violation`: see "PostgreSQL Error Codes" in its manual.
const CONFLICTS: [&str; 3] = ["40001", "40P01", "23505"];

/// Completes "failed to ...".
#[derive(Debug, Error)]
pub enum StoreError {
    #[error("`{0}` is not the address of an index; write a directory, or postgres://USER@HOST/DATABASE")]
    Address(String),
    #[error("no address of an object store: {0}")]
    ObjectsAddress(String),
    #[error("failed to use the object store {store}: {source}")]
    Objects { store: String, source: object_store::Error },
    #[error("failed to use the index: {0}")]
    Database(#[from] sqlx::Error),
    #[error("failed to update the schema of the index: {0}; a newer tardy may have made it")]
    Schema(#[from] sqlx::migrate::MigrateError),
    #[error("failed to read or write {path}: {source}")]
    Io { path: PathBuf, source: io::Error },
    #[error("{0}")]
    Archive(#[from] OpenError),
    #[error("failed to add {0}: the run is still active; add it when it has ended")]
    GoesOn(PathBuf),
    #[error("failed to add {0}: it is a link; move the archive itself into the directory")]
    Linked(PathBuf),
    #[error("failed to take the archive: {0}")]
    Refused(#[from] Refused),
    #[error("failed to read the row of run {0}: it is damaged; `tardy lab store rebuild` makes the index again")]
    Row(String),
    #[error("failed to change what is beside run {0}: another process has been changing it for two minutes; try again")]
    Held(String),
    #[error("failed to wait for a thread: {0}")]
    Thread(#[from] tokio::task::JoinError),
}

impl StoreError {
    /// Whether PostgreSQL gave up a transaction because of another one, so that it is worth starting again: a serialization
    /// failure, a deadlock, or a unique row that the other one committed first.
    pub(crate) fn is_conflict(&self) -> bool {
        let Self::Database(sqlx::Error::Database(error)) = self else { return false };
        error.code().is_some_and(|code| CONFLICTS.contains(&&*code))
    }

    pub(crate) fn io(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { path, source }
    }
}
