//! Runs: one by its address, and lists of them.

use crate::Store;
use crate::error::StoreError;
use crate::record::StoredFigures;
use crate::row::{count, flag, get, json, worded};
use crate::standing::Standing;
use archive::environment::Environment;
use archive::manifest::RunState;
use archive::settings::RunSettings;
use archive::summary::{LatencyFigures, RunSummary};
use judge::step::StepVerdict;
use serde::{Deserialize, Serialize};
use sqlx::any::AnyRow;
use std::path::{Path, PathBuf};

/// Runs that a list has at most.
pub const RUNS_MAX: i64 = 1000;

/// A run as lists show it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RunRow {
    /// Address of the archive: SHA-256 in hexadecimal. Links name it.
    pub digest: String,
    /// The archive's own name, which is not unique.
    pub id: String,
    pub board: String,
    /// Key of its scenario: board, load and way to measure.
    pub scenario: String,
    pub load: String,
    pub method: String,
    pub kernel: String,
    /// Such as `6.12-rt`.
    pub kernel_line: String,
    pub preemption: String,
    /// SHA-256 of its settings; two runs with the same one were measured alike.
    pub settings: String,
    /// SHA-256 of its fingerprint.
    pub environment: String,
    /// Start in ns since 1970; of an import without a start, the time of the import.
    pub started_unix_ns: i64,
    pub measured_ns: i64,
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub state: RunState,
    pub valid: bool,
    /// Conditions that were not as requested.
    pub degraded: bool,
    pub emulated: bool,
    pub virtual_time: bool,
    /// Outcome of the limits of its plan; `measured` without one. `standing` is the state of the run.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub verdict: StepVerdict,
    pub standing: Standing,
    /// Samples of all threads.
    pub samples: u64,
    /// `None` without samples, and of an invalid run.
    pub latency_max_ns: Option<i64>,
    /// Quantiles in ns.
    #[cfg_attr(feature = "openapi", schema(value_type = std::collections::BTreeMap<String, Option<f64>>))]
    pub latency_ns: LatencyFigures,
    /// The latency over which samples were counted, and their number.
    pub limit_ns: Option<i64>,
    pub over_limit: u64,
    /// `None` if the source of an import does not count them.
    pub missed: Option<i64>,
    pub spikes: u64,
    /// Culprit of the largest spike; `None` without a spike, or if it has no trace.
    pub worst_cause: Option<String>,
    /// Bytes of the archive when it was added.
    pub bytes: u64,
    /// Number of pins and citations that keep its raw traces.
    pub pinned: u64,
    /// When its raw traces were removed; `None` while they are there.
    pub pruned_unix_ns: Option<i64>,
    pub ingested_unix_ns: i64,
}

/// A run with what only its own page shows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RunDetail {
    #[serde(flatten)]
    pub run: RunRow,
    /// The scenario in words.
    pub words: String,
    /// The summary without spikes.
    #[cfg_attr(feature = "openapi", schema(value_type = Object))]
    pub summary: RunSummary,
    /// Causes of its spikes, most frequent first.
    pub causes: Vec<RunCause>,
}

/// A cause in one run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RunCause {
    pub culprit: String,
    pub spikes: u64,
    pub latency_max_ns: i64,
}

/// Columns of a [`RunRow`]; `r` is the run and `s` its scenario.
macro_rules! run_columns {
    () => {
        "r.digest, r.id, s.board, r.scenario, s.load, s.method, r.kernel, r.kernel_line, r.preemption, r.settings, \
         r.environment, r.started_unix_ns, r.measured_ns, r.state, r.valid, r.degraded, r.emulated, r.virtual_time, \
         r.verdict, r.standing, r.samples, r.latency_max_ns, r.limit_ns, r.over_limit, r.missed, r.spikes, \
         r.worst_cause, r.figures, r.bytes, r.ingested_unix_ns, r.pinned, r.pruned_unix_ns"
    };
}
pub(crate) use run_columns;

impl RunRow {
    /// Why the run is undecided; `None` if it is not.
    pub fn undecided_because(&self) -> Option<&'static str> {
        self.standing.undecided_because(self.verdict, self.limit_ns)
    }

    pub(crate) fn of(row: &AnyRow) -> Result<Self, StoreError> {
        let figures: StoredFigures = json(row, "figures")?;
        Ok(Self {
            digest: get(row, "digest")?,
            id: get(row, "id")?,
            board: get(row, "board")?,
            scenario: get(row, "scenario")?,
            load: get(row, "load")?,
            method: get(row, "method")?,
            kernel: get(row, "kernel")?,
            kernel_line: get(row, "kernel_line")?,
            preemption: get(row, "preemption")?,
            settings: get(row, "settings")?,
            environment: get(row, "environment")?,
            started_unix_ns: get(row, "started_unix_ns")?,
            measured_ns: get(row, "measured_ns")?,
            state: worded(row, "state")?,
            valid: flag(row, "valid")?,
            degraded: flag(row, "degraded")?,
            emulated: flag(row, "emulated")?,
            virtual_time: flag(row, "virtual_time")?,
            verdict: worded(row, "verdict")?,
            standing: worded(row, "standing")?,
            samples: count(row, "samples")?,
            latency_max_ns: get(row, "latency_max_ns")?,
            latency_ns: figures.latency_ns,
            limit_ns: get(row, "limit_ns")?,
            over_limit: count(row, "over_limit")?,
            missed: get(row, "missed")?,
            spikes: count(row, "spikes")?,
            worst_cause: get(row, "worst_cause")?,
            bytes: count(row, "bytes")?,
            pinned: count(row, "pinned")?,
            pruned_unix_ns: get(row, "pruned_unix_ns")?,
            ingested_unix_ns: get(row, "ingested_unix_ns")?,
        })
    }
}

impl Store {
    /// A run by its address; `None` if the index does not have it.
    ///
    /// # Errors
    /// Errors of the database.
    pub async fn run(&self, digest: &str) -> Result<Option<RunDetail>, StoreError> {
        let sql = concat!(
            "SELECT ",
            run_columns!(),
            ", s.words, r.summary, e.json AS environment_json, g.json AS settings_json FROM runs r \
             JOIN scenarios s ON s.scenario = r.scenario JOIN documents e ON e.document = r.environment \
             JOIN documents g ON g.document = r.settings WHERE r.digest = $1"
        );
        let Some(row) = sqlx::query(sql).bind(digest).fetch_optional(self.database.pool()).await? else {
            return Ok(None);
        };
        Ok(Some(RunDetail {
            run: RunRow::of(&row)?,
            words: get(&row, "words")?,
            summary: whole_summary(&row)?,
            causes: self.causes_of(digest).await?,
        }))
    }

    /// The newest runs of all boards, newest first, at most [`RUNS_MAX`]. `before` continues a list: the start and the
    /// digest of its last run.
    ///
    /// # Errors
    /// Errors of the database.
    pub async fn runs(&self, before: Option<(i64, &str)>, count: i64) -> Result<Vec<RunRow>, StoreError> {
        let sql = concat!(
            "SELECT ",
            run_columns!(),
            " FROM runs r JOIN scenarios s ON s.scenario = r.scenario \
             WHERE r.started_unix_ns < $1 OR (r.started_unix_ns = $1 AND r.digest < $2) \
             ORDER BY r.started_unix_ns DESC, r.digest DESC LIMIT $3"
        );
        // After every digest.
        let (started, digest) = before.unwrap_or((i64::MAX, "g"));
        let query = sqlx::query(sql).bind(started).bind(digest).bind(count.clamp(0, RUNS_MAX));
        query.fetch_all(self.database.pool()).await?.iter().map(RunRow::of).collect()
    }

    /// The archive of a run, to open through `archive`'s reader; `None` if the index does not have it.
    /// One that only the object store has is fetched first.
    ///
    /// # Errors
    /// Errors of the database and of the object store.
    pub async fn archive_of(&self, digest: &str) -> Result<Option<PathBuf>, StoreError> {
        let sql = "SELECT location FROM runs WHERE digest = $1";
        let found: Option<(String,)> = sqlx::query_as(sql).bind(digest).fetch_optional(self.database.pool()).await?;
        match found {
            Some((location,)) => self.here(digest, &location).await.map(Some),
            None => Ok(None),
        }
    }

    /// The run of an archive in the store's directory; `None` for another archive, and for one that the index does not have yet.
    ///
    /// # Errors
    /// Errors of the database.
    pub async fn run_at(&self, archive: &Path) -> Result<Option<RunRow>, StoreError> {
        let Some(location) = self.artefacts.location(archive) else { return Ok(None) };
        let sql = concat!(
            "SELECT ",
            run_columns!(),
            " FROM runs r JOIN scenarios s ON s.scenario = r.scenario WHERE r.location = $1"
        );
        let found = sqlx::query(sql).bind(location).fetch_optional(self.database.pool()).await?;
        found.as_ref().map(RunRow::of).transpose()
    }

    async fn causes_of(&self, digest: &str) -> Result<Vec<RunCause>, StoreError> {
        let sql = "SELECT digest, culprit, spikes, latency_max_ns FROM causes WHERE digest = $1 ORDER BY spikes DESC, culprit";
        let rows = sqlx::query(sql).bind(digest).fetch_all(self.database.pool()).await?;
        let cause = |row: &AnyRow| {
            Ok(RunCause {
                culprit: get(row, "culprit")?,
                spikes: count(row, "spikes")?,
                latency_max_ns: get(row, "latency_max_ns")?,
            })
        };
        rows.iter().map(cause).collect()
    }
}

/// The summary with its fingerprint and settings; spikes are in the archive alone.
pub(crate) fn whole_summary(row: &AnyRow) -> Result<RunSummary, StoreError> {
    let document = |name| get::<String>(row, name).map(|text| Some(text).filter(|text| !text.is_empty()));
    let environment: Option<Environment> =
        document("environment_json")?.and_then(|json| serde_json::from_str(&json).ok());
    let settings: Option<RunSettings> = document("settings_json")?.and_then(|json| serde_json::from_str(&json).ok());
    Ok(RunSummary { environment, settings, ..json(row, "summary")? })
}
