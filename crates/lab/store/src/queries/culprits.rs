//! Which causes delayed wake-ups: how often, where, since when.

use crate::Store;
use crate::error::StoreError;
use crate::row::{count, get};
use serde::{Deserialize, Serialize};
use sqlx::any::AnyRow;

/// One cause on one board under one load.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CulpritRow {
    /// Identifier of the culprit as in docs/reference/culprits.md, `not explained`, or `no trace`.
    pub culprit: String,
    pub board: String,
    pub load: String,
    pub method: String,
    pub scenario: String,
    /// Runs with a spike of this cause.
    pub runs: u64,
    pub spikes: u64,
    pub latency_max_ns: i64,
    /// Start of the first and of the last run with it.
    pub first_unix_ns: i64,
    pub last_unix_ns: i64,
}

impl Store {
    /// Causes in runs that started in a time, most spikes first; at most 10 000 rows.
    ///
    /// # Errors
    /// Errors of the database.
    pub async fn culprits(&self, from_unix_ns: i64, until_unix_ns: i64) -> Result<Vec<CulpritRow>, StoreError> {
        let sql = "SELECT c.culprit, s.board, s.load, s.method, r.scenario, COUNT(*) AS runs, \
                   CAST(SUM(c.spikes) AS BIGINT) AS spikes, MAX(c.latency_max_ns) AS latency_max_ns, \
                   MIN(r.started_unix_ns) AS first_unix_ns, MAX(r.started_unix_ns) AS last_unix_ns \
                   FROM causes c JOIN runs r ON r.digest = c.digest JOIN scenarios s ON s.scenario = r.scenario \
                   WHERE r.started_unix_ns >= $1 AND r.started_unix_ns < $2 \
                   GROUP BY c.culprit, s.board, s.load, s.method, r.scenario \
                   ORDER BY spikes DESC, c.culprit, r.scenario LIMIT 10000";
        let rows = sqlx::query(sql).bind(from_unix_ns).bind(until_unix_ns).fetch_all(self.database.pool()).await?;
        let culprit = |row: &AnyRow| {
            Ok(CulpritRow {
                culprit: get(row, "culprit")?,
                board: get(row, "board")?,
                load: get(row, "load")?,
                method: get(row, "method")?,
                scenario: get(row, "scenario")?,
                runs: count(row, "runs")?,
                spikes: count(row, "spikes")?,
                latency_max_ns: get(row, "latency_max_ns")?,
                first_unix_ns: get(row, "first_unix_ns")?,
                last_unix_ns: get(row, "last_unix_ns")?,
            })
        };
        rows.iter().map(culprit).collect()
    }
}
