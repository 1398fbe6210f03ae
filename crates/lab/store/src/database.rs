//! The connections to a database, and the little in which SQLite and PostgreSQL differ.

use crate::error::StoreError;
use sqlx::any::{AnyPoolOptions, install_default_drivers};
use sqlx::{Any, AnyConnection, AnyPool, Connection, Executor, Transaction};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::sync::{Mutex, MutexGuard};

const CONNECTIONS_MAX: u32 = 8;
const WAIT_MAX: Duration = Duration::from_secs(30);
/// A disk with less room cannot take the files that SQLite writes beside an index.
const ROOM_MIN_BYTES: u64 = 1 << 20;
/// A commit is on the disk before it is acknowledged; readers do not wait for a writer, nor a writer for readers.
const SQLITE_SETUP: &str =
    "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA busy_timeout = 30000; PRAGMA foreign_keys = ON";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    Sqlite,
    Postgres,
}

#[derive(Debug, Clone)]
pub struct Database {
    pool: AnyPool,
    engine: Engine,
    /// SQLite has one writer at a time: writers of this process queue here instead of polling its lock.
    writer: Arc<Mutex<()>>,
}

/// A transaction that writes.
pub struct Writing<'a> {
    pub transaction: Transaction<'static, Any>,
    _alone: Option<MutexGuard<'a, ()>>,
}

impl Writing<'_> {
    pub async fn commit(self) -> Result<(), StoreError> {
        Ok(self.transaction.commit().await?)
    }
}

impl Database {
    /// Opens a database; the file of one in SQLite is in `directory`.
    pub async fn open(url: &str, directory: &Path) -> Result<Self, StoreError> {
        install_default_drivers();
        let engine = if url.starts_with("sqlite:") { Engine::Sqlite } else { Engine::Postgres };
        if engine == Engine::Sqlite && !has_room(directory) {
            // The pool repeats a failed connection until its time is over, and does not return the reason.
            tried(url)
                .await
                .map_err(|source| StoreError::DiskFull { place: directory.display().to_string(), source })?;
        }
        let options = AnyPoolOptions::new().max_connections(CONNECTIONS_MAX).acquire_timeout(WAIT_MAX);
        let options = options.after_connect(move |connection, _| {
            Box::pin(async move {
                if engine == Engine::Sqlite {
                    connection.execute(SQLITE_SETUP).await?;
                }
                Ok(())
            })
        });
        Ok(Self { pool: options.connect(url).await?, engine, writer: Arc::default() })
    }

    pub fn pool(&self) -> &AnyPool {
        &self.pool
    }

    pub fn engine(&self) -> Engine {
        self.engine
    }

    /// Whether the database is a program of its own, which other hosts may use.
    pub fn is_server(&self) -> bool {
        self.engine == Engine::Postgres
    }

    pub async fn alone(&self) -> Option<MutexGuard<'_, ()>> {
        match self.engine {
            Engine::Sqlite => Some(self.writer.lock().await),
            Engine::Postgres => None,
        }
    }

    /// The statement for this engine.
    pub fn either(&self, sqlite: &'static str, postgres: &'static str) -> &'static str {
        match self.engine {
            Engine::Sqlite => sqlite,
            Engine::Postgres => postgres,
        }
    }

    /// The clock of the database in ns since 1970: workers on several hosts have one clock for leases.
    pub async fn now_unix_ns(&self) -> Result<i64, StoreError> {
        if self.engine == Engine::Sqlite {
            return Ok(now_unix_ns());
        }
        let sql = "SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS BIGINT)";
        let (now_us,): (i64,) = sqlx::query_as(sql).fetch_one(&self.pool).await?;
        Ok(now_us.saturating_mul(1000))
    }

    /// Starts a transaction that writes. SQLite takes its lock at once: one that starts to read and then writes fails if
    /// another wrote in between.
    pub async fn write(&self) -> Result<Writing<'_>, StoreError> {
        let alone = self.alone().await;
        let transaction = match self.engine {
            Engine::Sqlite => self.pool.begin_with("BEGIN IMMEDIATE").await?,
            Engine::Postgres => self.pool.begin().await?,
        };
        Ok(Writing { transaction, _alone: alone })
    }

    /// Waits until no other transaction holds a scenario, and holds it until this one ends.
    pub async fn lock_scenario(&self, writing: &mut Writing<'_>, scenario: &str) -> Result<(), StoreError> {
        if self.engine == Engine::Sqlite {
            // The transaction has the whole database.
            return Ok(());
        }
        let sql = "SELECT scenario FROM scenarios WHERE scenario = $1 FOR NO KEY UPDATE";
        sqlx::query(sql).bind(scenario).execute(&mut *writing.transaction).await?;
        Ok(())
    }
}

/// Whether a disk can take the files of an index; one that cannot be asked may.
fn has_room(directory: &Path) -> bool {
    let asked = rustix::fs::statvfs(directory);
    !asked.is_ok_and(|disk| disk.f_bavail.saturating_mul(disk.f_frsize) < ROOM_MIN_BYTES)
}

/// One connection to an index in SQLite, as the pool makes it.
async fn tried(url: &str) -> Result<(), sqlx::Error> {
    let mut connection = AnyConnection::connect(url).await?;
    connection.execute(SQLITE_SETUP).await?;
    connection.close().await
}

/// The clock of this machine in ns since 1970.
pub fn now_unix_ns() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(now.as_nanos()).unwrap_or(i64::MAX)
}
