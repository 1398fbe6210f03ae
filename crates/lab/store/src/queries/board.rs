//! The history of a board: its scenarios, and the runs of one of them over time with their histograms.

use super::run::{RunRow, run_columns};
use crate::Store;
use crate::error::StoreError;
use crate::outline::Outline;
use crate::row::get;
use crate::stored_histogram::decode;
use archive::histogram::Histogram;
use serde::{Deserialize, Serialize};
use sqlx::any::AnyRow;

/// Runs that a history has at most: the newest of them.
pub const HISTORY_RUNS_MAX: i64 = 2000;
/// Parts into which a history is divided at most.
pub const PARTS_MAX: usize = 400;

/// A load and way to measure on a board.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Scenario {
    pub scenario: String,
    pub words: String,
    pub board: String,
    pub load: String,
    pub method: String,
}

/// Fingerprint of the runs of a scenario: a run that is added makes it another value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunsOf {
    runs: i64,
    /// When the last one was added.
    ingested_unix_ns: Option<i64>,
}

/// Runs of a scenario, oldest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct History {
    pub scenario: Scenario,
    pub runs: Vec<HistoryPoint>,
    /// There are older runs in this time than an answer holds: [`HISTORY_RUNS_MAX`].
    pub cut: bool,
}

/// A run in a history.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct HistoryPoint {
    #[serde(flatten)]
    pub run: RunRow,
    /// Its samples in few buckets. Outlines of several runs add up bar by bar.
    pub outline: Outline,
}

/// All valid runs of a part of a history as one.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct HistoryPart {
    pub from_unix_ns: i64,
    /// Start of the next part.
    pub until_unix_ns: i64,
    pub runs: u64,
    pub samples: u64,
    pub latency_max_ns: Option<i64>,
    pub outline: Outline,
}

impl Store {
    /// The scenarios of a board, by load and method; empty if there is no such board.
    ///
    /// # Errors
    /// Errors of the database.
    pub async fn scenarios(&self, board: &str) -> Result<Vec<Scenario>, StoreError> {
        let sql = "SELECT scenario, words, board, load, method FROM scenarios WHERE board = $1 \
                   ORDER BY load, method, words, scenario LIMIT 1000";
        let rows = sqlx::query(sql).bind(board).fetch_all(self.database.pool()).await?;
        rows.iter().map(scenario).collect()
    }

    /// Fingerprint of the runs of a scenario.
    ///
    /// # Errors
    /// Errors of the database.
    pub async fn runs_of(&self, key: &str) -> Result<RunsOf, StoreError> {
        let sql = "SELECT COUNT(*), MAX(ingested_unix_ns) FROM runs WHERE scenario = $1";
        let (runs, ingested_unix_ns) = sqlx::query_as(sql).bind(key).fetch_one(self.database.pool()).await?;
        Ok(RunsOf { runs, ingested_unix_ns })
    }

    /// Starts of the first and of the last run of a scenario; `None` without a run.
    ///
    /// # Errors
    /// Errors of the database.
    pub async fn span(&self, key: &str) -> Result<Option<(i64, i64)>, StoreError> {
        let sql = "SELECT MIN(started_unix_ns), MAX(started_unix_ns) FROM runs WHERE scenario = $1";
        let query = sqlx::query_as(sql).bind(key);
        let (first, last): (Option<i64>, Option<i64>) = query.fetch_one(self.database.pool()).await?;
        Ok(first.zip(last))
    }

    /// The runs of a scenario that started in a time, from its first ns to before its last; `None` if there is no such
    /// scenario.
    ///
    /// # Errors
    /// Errors of the database.
    pub async fn history(
        &self,
        key: &str,
        from_unix_ns: i64,
        until_unix_ns: i64,
    ) -> Result<Option<History>, StoreError> {
        let Some(scenario) = self.scenario(key).await? else { return Ok(None) };
        let sql = concat!(
            "SELECT ",
            run_columns!(),
            ", r.outline FROM runs r JOIN scenarios s ON s.scenario = r.scenario \
             WHERE r.scenario = $1 AND r.started_unix_ns >= $2 AND r.started_unix_ns < $3 \
             ORDER BY r.started_unix_ns DESC, r.digest DESC LIMIT $4"
        );
        let query = sqlx::query(sql).bind(key).bind(from_unix_ns).bind(until_unix_ns).bind(HISTORY_RUNS_MAX + 1);
        let rows = query.fetch_all(self.database.pool()).await?;
        let point = |row: &AnyRow| {
            let outline = Outline::of(&decode(&get::<Vec<u8>>(row, "outline")?));
            Ok(HistoryPoint { run: RunRow::of(row)?, outline })
        };
        let kept = rows.iter().take(HISTORY_RUNS_MAX as usize);
        let mut runs: Vec<HistoryPoint> = kept.map(point).collect::<Result<_, StoreError>>()?;
        runs.reverse();
        Ok(Some(History { scenario, runs, cut: rows.len() > HISTORY_RUNS_MAX as usize }))
    }

    /// The valid runs of a scenario in a time, divided into `parts` of equal length: the ridges of a year.
    ///
    /// # Errors
    /// Errors of the database.
    pub async fn history_parts(
        &self,
        key: &str,
        from_unix_ns: i64,
        until_unix_ns: i64,
        parts: usize,
    ) -> Result<Vec<HistoryPart>, StoreError> {
        let parts = parts.clamp(1, PARTS_MAX);
        let length = i128::from(until_unix_ns) - i128::from(from_unix_ns);
        if length <= 0 {
            return Ok(Vec::new());
        }
        let edge = |part: usize| (i128::from(from_unix_ns) + length * part as i128 / parts as i128) as i64;
        let mut divided: Vec<HistoryPart> = (0..parts)
            .map(|part| HistoryPart {
                from_unix_ns: edge(part),
                until_unix_ns: edge(part + 1),
                ..HistoryPart::default()
            })
            .collect();
        let mut sums = vec![Histogram::default(); parts];
        let sql = "SELECT started_unix_ns, samples, latency_max_ns, outline FROM runs WHERE scenario = $1 AND valid = 1 \
                   AND started_unix_ns >= $2 AND started_unix_ns < $3";
        let query = sqlx::query_as(sql).bind(key).bind(from_unix_ns).bind(until_unix_ns);
        let rows: Vec<(i64, i64, Option<i64>, Vec<u8>)> = query.fetch_all(self.database.pool()).await?;
        for (started, samples, max_ns, outline) in rows {
            let at = divided.partition_point(|part| part.until_unix_ns <= started).min(parts - 1);
            let part = &mut divided[at];
            part.runs += 1;
            part.samples = part.samples.saturating_add(u64::try_from(samples).unwrap_or(0));
            part.latency_max_ns = part.latency_max_ns.max(max_ns);
            sums[at].merge(&decode(&outline));
        }
        for (part, sum) in divided.iter_mut().zip(&sums) {
            part.outline = Outline::of(sum);
        }
        Ok(divided)
    }

    /// The samples of all valid runs of a scenario in a time as one histogram, exact to its 0.1 %.
    ///
    /// # Errors
    /// Errors of the database.
    pub async fn merged_histogram(
        &self,
        key: &str,
        from_unix_ns: i64,
        until_unix_ns: i64,
    ) -> Result<Histogram, StoreError> {
        let sql = "SELECT histogram FROM runs WHERE scenario = $1 AND valid = 1 AND started_unix_ns >= $2 \
                   AND started_unix_ns < $3";
        let query = sqlx::query_as(sql).bind(key).bind(from_unix_ns).bind(until_unix_ns);
        let rows: Vec<(Vec<u8>,)> = query.fetch_all(self.database.pool()).await?;
        let mut merged = Histogram::default();
        rows.iter().for_each(|(bytes,)| merged.merge(&decode(bytes)));
        Ok(merged)
    }

    /// A scenario by its key.
    ///
    /// # Errors
    /// Errors of the database.
    pub async fn scenario(&self, key: &str) -> Result<Option<Scenario>, StoreError> {
        let sql = "SELECT scenario, words, board, load, method FROM scenarios WHERE scenario = $1";
        let row = sqlx::query(sql).bind(key).fetch_optional(self.database.pool()).await?;
        row.as_ref().map(scenario).transpose()
    }
}

fn scenario(row: &AnyRow) -> Result<Scenario, StoreError> {
    Ok(Scenario {
        scenario: get(row, "scenario")?,
        words: get(row, "words")?,
        board: get(row, "board")?,
        load: get(row, "load")?,
        method: get(row, "method")?,
    })
}
