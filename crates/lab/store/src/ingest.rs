//! Adds an archive: keeps its files, takes its account, then writes its rows in one transaction.
//!
//! The rows are written last, so that a run in the index always has its archive. After a crash before that, adding it
//! again finds the files and writes the rows.

use crate::Store;
use crate::database::{Writing, now_unix_ns};
use crate::digest::Contents;
use crate::error::StoreError;
use crate::label::{hex_of, label};
use crate::new_rows::NewRows;
use crate::pins::Pins;
use crate::pruning::PrunedContents;
use crate::record::{RunRecord, word};
use crate::stored_histogram::encode;
use crate::summable::{SUMMABLE_MAX, summable};
use account::{Account, ExplanationSource};
use archive::directory::ArchiveDirectory;
use archive::reader::ArchiveState;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Runs of a scenario that a sparkline shows.
pub(crate) const RECENT_RUNS: i64 = 30;

/// How often rows are written again because another process wrote the same ones.
const CONFLICTS_MAX: u32 = 10;

/// Result of adding an archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Added,
    /// The index has it already.
    Known,
    /// Another archive was at its place before, or it was read again on request.
    Replaced,
}

/// An archive of the store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ingested {
    /// Address of the archive: SHA-256 in hexadecimal.
    pub digest: String,
    pub id: String,
    pub board: String,
    /// Relative to the directory of archives.
    pub location: String,
    pub outcome: Outcome,
}

/// An archive that the store has.
#[derive(Debug)]
pub(crate) struct Kept {
    pub digest: String,
    /// Relative to the directory of archives.
    pub location: String,
    pub bytes: i64,
    pub pruned_unix_ns: Option<i64>,
    pub pins: Pins,
}

impl Kept {
    /// One from which nothing was removed, without pins.
    pub fn whole(location: String, contents: &Contents) -> Self {
        let bytes = i64::try_from(contents.bytes()).unwrap_or(i64::MAX);
        Self { digest: contents.digest(), location, bytes, pruned_unix_ns: None, pins: Pins::default() }
    }
}

/// A run to write into the index.
#[derive(Debug)]
struct Prepared {
    kept: Kept,
    record: RunRecord,
}

impl Store {
    /// Adds an archive. It is acknowledged when this returns: its files and its rows are on the disk.
    ///
    /// # Errors
    /// [`StoreError::Archive`] if there is none, [`StoreError::GoesOn`] while it is being written, otherwise those of the disk
    /// and of the database; adding it again is safe.
    pub async fn ingest(&self, archive: &Path) -> Result<Ingested, StoreError> {
        self.add(archive, false).await
    }

    /// Adds an archive; `again`: also if the index has it already.
    pub(crate) async fn add(&self, archive: &Path, again: bool) -> Result<Ingested, StoreError> {
        let (store, path) = (self.clone(), archive.to_owned());
        let kept = tokio::task::spawn_blocking(move || store.kept(&path)).await??;
        self.index(kept, again).await
    }

    /// Writes the rows of an archive that is kept.
    pub(crate) async fn index(&self, kept: Kept, again: bool) -> Result<Ingested, StoreError> {
        // Before its rows: a run of the index has its archive.
        self.send_to_objects(&kept.digest, &self.artefacts.path(&kept.location)).await?;
        let mut again = again;
        if !again && let Some(known) = self.known(&kept.digest).await? {
            if known.location == kept.location || self.is_kept(&kept.digest, &known.location).await? {
                return Ok(known);
            }
            // Its archive was removed, or moved to here.
            again = true;
        }
        let kept = Kept { pins: self.pins_beside(&kept.digest, kept.pins).await?, ..kept };
        let path = self.artefacts.path(&kept.location);
        let record = tokio::task::spawn_blocking(move || -> Result<RunRecord, StoreError> {
            Ok(RunRecord::of(Account::open(path, ExplanationSource::StoredOrTraces)?))
        });
        self.record(&Prepared { kept, record: record.await?? }, again).await
    }

    /// An archive with its address, and the location at which the store has it from now on.
    pub(crate) fn kept(&self, path: &Path) -> Result<Kept, StoreError> {
        // Reports what is no archive, and one that is being written.
        if ArchiveState::of(path)?.goes_on {
            return Err(StoreError::GoesOn(path.to_owned()));
        }
        let archive = ArchiveDirectory::open(path).map_err(StoreError::io(path))?;
        let contents = Contents::of(&archive).map_err(StoreError::io(path))?;
        let Some(location) = self.artefacts.location(path) else {
            // What another store says about its archives counts there.
            let location = self.artefacts.keep(&archive, &contents)?;
            return Ok(Kept::whole(location, &contents));
        };
        let pins = Pins::read(&archive).map_err(StoreError::io(path))?;
        let pruned = PrunedContents::read(&archive, &contents).map_err(StoreError::io(path))?;
        let pruned_unix_ns = pruned.as_ref().map(|pruned| pruned.pruned_unix_ns);
        let digest = pruned.map_or_else(|| contents.digest(), |pruned| pruned.contents.digest());
        Ok(Kept { digest, pruned_unix_ns, pins, ..Kept::whole(location, &contents) })
    }

    pub(crate) async fn known(&self, digest: &str) -> Result<Option<Ingested>, StoreError> {
        let sql = "SELECT r.id, s.board, r.location FROM runs r JOIN scenarios s ON s.scenario = r.scenario WHERE r.digest = $1";
        let row: Option<(String, String, String)> =
            sqlx::query_as(sql).bind(digest).fetch_optional(self.database.pool()).await?;
        Ok(row.map(|(id, board, location)| Ingested {
            digest: digest.to_owned(),
            id,
            board,
            location,
            outcome: Outcome::Known,
        }))
    }

    async fn record(&self, prepared: &Prepared, again: bool) -> Result<Ingested, StoreError> {
        let mut conflicts = 0;
        loop {
            match self.record_once(prepared, again).await {
                Err(error) if error.is_conflict() && conflicts < CONFLICTS_MAX => conflicts += 1,
                ended => return ended,
            }
        }
    }

    /// Every writer locks the scenario before it touches what belongs to it, so that they wait for each other instead of
    /// in a circle. Only one that also removes a run of another scenario may have to be done again.
    async fn record_once(&self, prepared: &Prepared, again: bool) -> Result<Ingested, StoreError> {
        let Prepared { kept, record } = prepared;
        let mut writing = self.database.write().await?;
        write_documents(&mut writing, record).await?;
        write_scenario(&mut writing, record).await?;
        self.database.lock_scenario(&mut writing, &record.scenario).await?;
        let mut removed = remove_other_at(&mut writing, &kept.location, &kept.digest).await?;
        if again {
            removed |= remove(&mut writing, &kept.digest).await?;
        }
        let added = write_run(&mut writing, prepared).await?;
        if added {
            write_coverage(&mut writing, record).await?;
            write_series(&mut writing, record).await?;
            write_causes(&mut writing, prepared).await?;
            if !kept.pins.pins.is_empty() {
                kept.pins.write_rows(&mut writing, &kept.digest).await?;
            }
            write_recent(&mut writing, &record.scenario).await?;
        }
        writing.commit().await?;
        let outcome = match (removed, added) {
            (true, _) => Outcome::Replaced,
            (false, true) => Outcome::Added,
            (false, false) => Outcome::Known,
        };
        Ok(Ingested {
            digest: kept.digest.clone(),
            id: record.id.clone(),
            board: record.board.clone(),
            location: kept.location.clone(),
            outcome,
        })
    }
}

async fn write_scenario(writing: &mut Writing<'_>, record: &RunRecord) -> Result<(), StoreError> {
    let row = NewRows::one("scenarios")
        .set("scenario", &record.scenario)
        .set("words", &record.words)
        .set("board", &record.board)
        .set("load", &record.load)
        .set("method", &record.method)
        .set("recent_from_unix_ns", i64::MIN);
    row.insert(writing, "ON CONFLICT (scenario) DO NOTHING").await.map(drop)
}

async fn write_documents(writing: &mut Writing<'_>, record: &RunRecord) -> Result<(), StoreError> {
    let rows =
        [&record.environment, &record.settings].into_iter().fold(NewRows::into("documents"), |rows, document| {
            rows.row().set("document", &document.name).set("json", &document.json)
        });
    rows.insert(writing, "ON CONFLICT (document) DO NOTHING").await.map(drop)
}

/// Whether the run was not there yet.
async fn write_run(writing: &mut Writing<'_>, Prepared { kept, record }: &Prepared) -> Result<bool, StoreError> {
    let figures = serde_json::to_string(&record.figures).expect("figures have only string keys");
    let row = NewRows::one("runs")
        .set("digest", &kept.digest)
        .set("location", &kept.location)
        .set("id", &record.id)
        .set("scenario", &record.scenario)
        .set("kernel", &record.kernel)
        .set("kernel_line", &record.kernel_line)
        .set("preemption", &record.preemption)
        .set("environment", &record.environment.name)
        .set("settings", &record.settings.name)
        .set("started_unix_ns", record.started_unix_ns)
        .set("measured_ns", record.measured_ns)
        .set("state", &record.state)
        .set("valid", i64::from(record.valid))
        .set("degraded", i64::from(record.degraded))
        .set("emulated", i64::from(record.emulated))
        .set("virtual_time", i64::from(record.virtual_time))
        .set("verdict", word(&record.verdict))
        .set("standing", word(&record.standing))
        .set("samples", record.samples)
        .set("latency_max_ns", record.latency_max_ns)
        .set("limit_ns", record.limit_ns)
        .set("over_limit", record.over_limit)
        .set("missed", record.missed)
        .set("spikes", record.spikes)
        .set("worst_cause", record.worst_cause.as_deref())
        .set("histogram", encode(&record.histogram))
        .set("outline", encode(&record.outline.as_histogram()))
        .set("figures", figures)
        .set("summary", &record.summary)
        .set("bytes", kept.bytes)
        .set("ingested_unix_ns", now_unix_ns())
        .set("pinned", kept.pins.pins.len() as i64)
        .set("pruned_unix_ns", kept.pruned_unix_ns);
    Ok(row.insert(writing, "ON CONFLICT (digest) DO NOTHING").await? > 0)
}

async fn write_coverage(writing: &mut Writing<'_>, run: &RunRecord) -> Result<(), StoreError> {
    if !run.valid {
        return Ok(());
    }
    let sql = "INSERT INTO coverage (scenario, kernel, runs, samples, measured_ns, latency_max_ns) \
               VALUES ($1, $2, 1, $3, $4, $5) ON CONFLICT (scenario, kernel) DO UPDATE SET runs = coverage.runs + 1, \
               samples = coverage.samples + excluded.samples, measured_ns = coverage.measured_ns + excluded.measured_ns, \
               latency_max_ns = CASE WHEN excluded.latency_max_ns IS NULL OR coverage.latency_max_ns >= excluded.latency_max_ns \
               THEN coverage.latency_max_ns ELSE excluded.latency_max_ns END";
    let query = sqlx::query(sql).bind(&run.scenario).bind(&run.kernel).bind(summable(run.samples));
    query.bind(summable(run.measured_ns)).bind(run.latency_max_ns).execute(&mut *writing.transaction).await?;
    Ok(())
}

async fn write_series(writing: &mut Writing<'_>, run: &RunRecord) -> Result<(), StoreError> {
    let rows = run.figures.compared.keys().fold(NewRows::into("series"), |rows, figure| {
        let figure = figure.to_string();
        rows.row()
            .set("series", hex_of(&[&run.scenario, &run.kernel_line, &figure]))
            .set("scenario", &run.scenario)
            .set("kernel_line", &run.kernel_line)
            .set("figure", label(&figure))
    });
    rows.insert(writing, "ON CONFLICT (series) DO NOTHING").await.map(drop)
}

async fn write_causes(writing: &mut Writing<'_>, Prepared { kept, record }: &Prepared) -> Result<(), StoreError> {
    let rows = record.causes.iter().fold(NewRows::into("causes"), |rows, (culprit, count)| {
        rows.row()
            .set("digest", &kept.digest)
            .set("culprit", culprit)
            .set("spikes", count.spikes)
            .set("latency_max_ns", count.latency_max_ns)
            .set("lost_ns", count.lost_ns)
    });
    rows.insert(writing, "").await.map(drop)
}

async fn write_recent(writing: &mut Writing<'_>, scenario: &str) -> Result<(), StoreError> {
    let sql = "UPDATE scenarios SET recent_from_unix_ns = COALESCE((SELECT started_unix_ns FROM runs WHERE scenario = $1 \
               ORDER BY started_unix_ns DESC LIMIT 1 OFFSET $2), $3) WHERE scenario = $1";
    let query = sqlx::query(sql).bind(scenario).bind(RECENT_RUNS - 1).bind(i64::MIN);
    query.execute(&mut *writing.transaction).await?;
    Ok(())
}

/// Removes the rows of an archive whose place another one has taken.
async fn remove_other_at(writing: &mut Writing<'_>, location: &str, digest: &str) -> Result<bool, StoreError> {
    let sql = "SELECT digest FROM runs WHERE location = $1 AND digest <> $2";
    let query = sqlx::query_as(sql).bind(location).bind(digest);
    let other: Option<(String,)> = query.fetch_optional(&mut *writing.transaction).await?;
    match other {
        Some((other,)) => remove(writing, &other).await,
        None => Ok(false),
    }
}

/// Removes the rows of a run and corrects the sums that it was in.
pub(crate) async fn remove(writing: &mut Writing<'_>, digest: &str) -> Result<bool, StoreError> {
    let sql = "SELECT scenario, kernel FROM runs WHERE digest = $1";
    let found: Option<(String, String)> =
        sqlx::query_as(sql).bind(digest).fetch_optional(&mut *writing.transaction).await?;
    let Some((scenario, kernel)) = found else { return Ok(false) };
    for sql in [
        "DELETE FROM causes WHERE digest = $1",
        "DELETE FROM pins WHERE digest = $1",
        "DELETE FROM runs WHERE digest = $1",
    ] {
        sqlx::query(sql).bind(digest).execute(&mut *writing.transaction).await?;
    }
    let sql = "DELETE FROM coverage WHERE scenario = $1 AND kernel = $2";
    sqlx::query(sql).bind(&scenario).bind(&kernel).execute(&mut *writing.transaction).await?;
    let sql = "INSERT INTO coverage (scenario, kernel, runs, samples, measured_ns, latency_max_ns) \
               SELECT scenario, kernel, COUNT(*), CAST(SUM(CASE WHEN samples > $3 THEN $3 ELSE samples END) AS BIGINT), \
               CAST(SUM(CASE WHEN measured_ns > $3 THEN $3 ELSE measured_ns END) AS BIGINT), MAX(latency_max_ns) FROM runs \
               WHERE scenario = $1 AND kernel = $2 AND valid = 1 GROUP BY scenario, kernel";
    let query = sqlx::query(sql).bind(&scenario).bind(&kernel).bind(SUMMABLE_MAX);
    query.execute(&mut *writing.transaction).await?;
    write_recent(writing, &scenario).await?;
    Ok(true)
}
