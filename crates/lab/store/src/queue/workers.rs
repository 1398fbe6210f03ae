//! Workers that reported, and when.

use crate::Store;
use crate::error::StoreError;
use crate::label::label;
use crate::row::{get, json};
use serde::{Deserialize, Serialize};
use sqlx::any::AnyRow;

/// A worker that was killed is listed for this long: a week.
const FORGOTTEN_NS: i64 = 7 * 24 * 3600 * 1_000_000_000;

/// A worker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct WorkerRow {
    pub worker: String,
    /// The boards that it reaches.
    pub boards: Vec<String>,
    pub version: String,
    pub started_unix_ns: i64,
    pub heartbeat_unix_ns: i64,
}

impl Store {
    /// Records that a worker is there.
    ///
    /// # Errors
    /// Errors of the database.
    pub async fn heartbeat(
        &self,
        worker: &str,
        boards: &[String],
        version: &str,
        now_unix_ns: i64,
    ) -> Result<(), StoreError> {
        let sql = "INSERT INTO workers (worker, boards, version, started_unix_ns, heartbeat_unix_ns) \
                   VALUES ($1, $2, $3, $4, $4) ON CONFLICT (worker) DO UPDATE SET boards = excluded.boards, \
                   version = excluded.version, heartbeat_unix_ns = excluded.heartbeat_unix_ns";
        let boards: Vec<String> = boards.iter().map(|board| label(board)).collect();
        let boards = serde_json::to_string(&boards).expect("names are text");
        let mut writing = self.database.write().await?;
        let query = sqlx::query(sql).bind(label(worker)).bind(boards).bind(label(version)).bind(now_unix_ns);
        query.execute(&mut *writing.transaction).await?;
        writing.commit().await
    }

    /// Records that a worker ended, and forgets those that have been silent for a week: they were killed.
    ///
    /// # Errors
    /// Errors of the database.
    pub async fn worker_ended(&self, worker: &str, now_unix_ns: i64) -> Result<(), StoreError> {
        let sql = "DELETE FROM workers WHERE worker = $1 OR heartbeat_unix_ns < $2";
        let mut writing = self.database.write().await?;
        let query = sqlx::query(sql).bind(label(worker)).bind(now_unix_ns.saturating_sub(FORGOTTEN_NS));
        query.execute(&mut *writing.transaction).await?;
        writing.commit().await
    }

    /// Every worker, by name; at most 10 000.
    ///
    /// # Errors
    /// Errors of the database.
    pub async fn workers(&self) -> Result<Vec<WorkerRow>, StoreError> {
        let sql = "SELECT worker, worker AS digest, boards, version, started_unix_ns, heartbeat_unix_ns FROM workers \
                   ORDER BY worker LIMIT 10000";
        let worker = |row: &AnyRow| {
            Ok(WorkerRow {
                worker: get(row, "worker")?,
                boards: json(row, "boards")?,
                version: get(row, "version")?,
                started_unix_ns: get(row, "started_unix_ns")?,
                heartbeat_unix_ns: get(row, "heartbeat_unix_ns")?,
            })
        };
        sqlx::query(sql).fetch_all(self.database.pool()).await?.iter().map(worker).collect()
    }
}
