//! Which causes delayed wake-ups: how often, where, since when.

use crate::Store;
use crate::error::StoreError;
use crate::row::{count, get};
use crate::summable::SUMMABLE_MAX;
use serde::{Deserialize, Serialize};
use sqlx::any::AnyRow;
use std::collections::BTreeMap;

/// Parts of a time in a trend.
pub const TREND_PARTS: usize = 12;

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
    /// Time that the cause took of the latencies of these spikes; `None` while a run was added by a version that did not count it.
    #[serde(default)]
    pub lost_ns: Option<i64>,
    pub latency_max_ns: i64,
    /// Start of the first and of the last run with it.
    pub first_unix_ns: i64,
    pub last_unix_ns: i64,
}

/// How often each cause occurred over a time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Trends {
    /// Time measured in each part.
    pub measured_ns: [i64; TREND_PARTS],
    /// Spikes of each cause in each part.
    pub spikes: BTreeMap<String, [u64; TREND_PARTS]>,
}

impl Store {
    /// Causes in valid runs that started in a time, most spikes first; at most 10 000 rows.
    ///
    /// # Errors
    /// Errors of the database.
    pub async fn culprits(&self, from_unix_ns: i64, until_unix_ns: i64) -> Result<Vec<CulpritRow>, StoreError> {
        let sql = "SELECT c.culprit, s.board, s.load, s.method, r.scenario, COUNT(*) AS runs, \
                   CAST(SUM(c.spikes) AS BIGINT) AS spikes, \
                   CASE WHEN COUNT(c.lost_ns) = COUNT(*) THEN CAST(SUM(c.lost_ns) AS BIGINT) END AS lost_ns, MAX(c.latency_max_ns) AS latency_max_ns, \
                   MIN(r.started_unix_ns) AS first_unix_ns, MAX(r.started_unix_ns) AS last_unix_ns \
                   FROM causes c JOIN runs r ON r.digest = c.digest JOIN scenarios s ON s.scenario = r.scenario \
                   WHERE r.started_unix_ns >= $1 AND r.started_unix_ns < $2 AND r.valid = 1 \
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
                lost_ns: get(row, "lost_ns")?,
                latency_max_ns: get(row, "latency_max_ns")?,
                first_unix_ns: get(row, "first_unix_ns")?,
                last_unix_ns: get(row, "last_unix_ns")?,
            })
        };
        rows.iter().map(culprit).collect()
    }

    /// Spikes of each cause, and the time measured, in parts of equal length of a time.
    ///
    /// # Errors
    /// Errors of the database.
    pub async fn culprit_trends(&self, from_unix_ns: i64, until_unix_ns: i64) -> Result<Trends, StoreError> {
        let length_ns = until_unix_ns.saturating_sub(from_unix_ns) / TREND_PARTS as i64 + 1;
        let mut trends = Trends::default();
        let sql = "SELECT (started_unix_ns - $1) / $3 AS part, CAST(SUM(measured_ns) AS BIGINT) AS measured_ns FROM runs \
                   WHERE started_unix_ns >= $1 AND started_unix_ns < $2 AND measured_ns < $4 AND valid = 1 GROUP BY 1";
        let query = sqlx::query(sql).bind(from_unix_ns).bind(until_unix_ns).bind(length_ns).bind(SUMMABLE_MAX);
        for row in query.fetch_all(self.database.pool()).await? {
            trends.measured_ns[part(&row)?] = get(&row, "measured_ns")?;
        }
        let sql = "SELECT c.culprit, (r.started_unix_ns - $1) / $3 AS part, CAST(SUM(c.spikes) AS BIGINT) AS spikes \
                   FROM causes c JOIN runs r ON r.digest = c.digest \
                   WHERE r.started_unix_ns >= $1 AND r.started_unix_ns < $2 AND r.valid = 1 GROUP BY 1, 2 LIMIT 10000";
        let query = sqlx::query(sql).bind(from_unix_ns).bind(until_unix_ns).bind(length_ns);
        for row in query.fetch_all(self.database.pool()).await? {
            trends.spikes.entry(get(&row, "culprit")?).or_default()[part(&row)?] = count(&row, "spikes")?;
        }
        Ok(trends)
    }
}

fn part(row: &AnyRow) -> Result<usize, StoreError> {
    Ok(usize::try_from(get::<i64>(row, "part")?).unwrap_or(0).min(TREND_PARTS - 1))
}
