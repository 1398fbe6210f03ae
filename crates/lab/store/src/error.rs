//! Why the store could not do something.

use crate::refused::Refused;
use archive::reader::OpenError;
use sqlx::migrate::MigrateError;
use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// `serialization_failure`, `deadlock_detected`, `unique_violation`: see "PostgreSQL Error Codes" in its manual.
const CONFLICTS: [&str; 3] = ["40001", "40P01", "23505"];

/// `disk_full` of PostgreSQL, and `SQLITE_FULL` of SQLite: see "Result and Error Codes" in its manual.
const DISK_FULL: [&str; 2] = ["53100", "13"];

/// Completes "failed to ...".
#[derive(Debug, Error)]
pub enum StoreError {
    #[error("`{0}` is not the address of an index; write a directory, or postgres://USER@HOST/DATABASE")]
    Address(String),
    #[error("`{text}` is not the address of an object store: {expected}")]
    ObjectsAddress { text: String, expected: &'static str },
    #[error("failed to use the object store {store}: {because}")]
    ObjectsAccess { store: String, because: String },
    #[error("failed to use the object store {store}: {source}")]
    Objects { store: String, source: object_store::Error },
    #[error("failed to use the index: {0}")]
    Database(#[source] sqlx::Error),
    #[error("failed to write the index: the disk of {place} is full; free some space there")]
    DiskFull { place: String, source: sqlx::Error },
    #[error("failed to update the schema of the index: {0}; a newer tardy may have made it")]
    Schema(#[source] MigrateError),
    #[error("failed to read or write {path}: {source}{}", fix(.source))]
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

    /// Whether the index or the object store failed: then every other archive fails as well.
    pub(crate) fn is_of_the_lab(&self) -> bool {
        matches!(self, Self::Database(_) | Self::DiskFull { .. } | Self::Thread(_) | Self::Objects { .. })
    }

    pub(crate) fn io(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { path, source }
    }
}

fn fix(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "; free some space there",
        _ => "",
    }
}

fn is_disk_full(error: &sqlx::Error) -> bool {
    let sqlx::Error::Database(error) = error else { return false };
    error.code().is_some_and(|code| DISK_FULL.contains(&&*code))
}

impl From<sqlx::Error> for StoreError {
    fn from(source: sqlx::Error) -> Self {
        match is_disk_full(&source) {
            true => Self::DiskFull { place: "the database".into(), source },
            false => Self::Database(source),
        }
    }
}

impl From<MigrateError> for StoreError {
    fn from(error: MigrateError) -> Self {
        match error {
            MigrateError::Execute(source) | MigrateError::ExecuteMigration(source, _) if is_disk_full(&source) => {
                source.into()
            }
            other => Self::Schema(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sqlx::any::install_default_drivers;
    use sqlx::{AnyConnection, Connection, Executor};

    #[test]
    fn a_full_disk_is_named_with_its_fix() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let full = runtime.block_on(async {
            install_default_drivers();
            let mut connection = AnyConnection::connect("sqlite::memory:").await.unwrap();
            connection.execute("CREATE TABLE filled (bytes BLOB)").await.unwrap();
            connection.execute("PRAGMA max_page_count = 2").await.unwrap();
            connection.execute("INSERT INTO filled VALUES (zeroblob(100000))").await.unwrap_err()
        });
        let error = StoreError::from(full);
        assert!(matches!(error, StoreError::DiskFull { .. }), "{error:?}");
        let archive = StoreError::io("lab/run")(io::Error::from(io::ErrorKind::StorageFull));
        let other = StoreError::io("lab/run")(io::Error::from(io::ErrorKind::NotFound));
        assert!(archive.to_string().ends_with(" there") && !other.to_string().ends_with(" there"), "{archive}");
        assert!(matches!(StoreError::from(sqlx::Error::PoolTimedOut), StoreError::Database(_)));
    }
}
