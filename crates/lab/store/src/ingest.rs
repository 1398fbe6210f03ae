//! Adds an archive: reads and judges it, keeps its files, then writes its rows in one transaction.
//!
//! The rows are written last, so that a run in the index always has its archive. After a crash before that, adding it
//! again finds the files and writes the rows.

use crate::Store;
use crate::assessment::Assess;
use crate::database::{Writing, now_unix_ns};
use crate::digest::Contents;
use crate::error::StoreError;
use crate::label::hex_of;
use crate::pins::Pins;
use crate::pruning::PrunedContents;
use crate::record::{RunRecord, word};
use crate::stored_histogram::encode;
use archive::directory::ArchiveDirectory;
use archive::reader::Run;
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::Arc;

/// Runs of a scenario that a sparkline shows.
pub(crate) const RECENT_RUNS: i64 = 30;

/// How often rows are written again because another process wrote the same ones.
const CONFLICTS_MAX: u32 = 10;

/// What adding an archive did.
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

/// An archive that was read, and is kept.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub digest: String,
    pub location: String,
    pub bytes: i64,
    pub pruned_unix_ns: Option<i64>,
    pub pins: Pins,
    pub record: RunRecord,
}

impl Store {
    /// Adds an archive. It is acknowledged when this returns: its files and its rows are on the disk.
    ///
    /// # Errors
    /// [`StoreError::Archive`] if there is none, [`StoreError::GoesOn`] while it is being written, otherwise those of the disk
    /// and of the database; adding it again is safe.
    pub async fn ingest(&self, archive: &Path, assess: Arc<dyn Assess>) -> Result<Ingested, StoreError> {
        self.add(archive, assess, false).await
    }

    /// Reads an archive again that the index may have already.
    pub(crate) async fn add(
        &self,
        archive: &Path,
        assess: Arc<dyn Assess>,
        again: bool,
    ) -> Result<Ingested, StoreError> {
        let (store, path) = (self.clone(), archive.to_owned());
        let (digest, kept) = tokio::task::spawn_blocking(move || store.kept(&path)).await??;
        // Before its rows: a run of the index has its archive.
        self.send_to_objects(&digest, &self.artefacts.path(&kept.location)).await?;
        let mut again = again;
        if !again && let Some(known) = self.known(&digest).await? {
            if known.location == kept.location || self.is_kept(&digest, &known.location).await? {
                return Ok(known);
            }
            // Its archive was removed, or moved to here.
            again = true;
        }
        let kept = Kept { pins: self.pins_beside(&digest, kept.pins).await?, ..kept };
        let store = self.clone();
        let prepared = tokio::task::spawn_blocking(move || store.prepared(digest, kept, &*assess)).await??;
        self.record(&prepared, again).await
    }

    /// The address of an archive, and the location at which the store has it from now on.
    fn kept(&self, path: &Path) -> Result<(String, Kept), StoreError> {
        // Reports what is no archive, and one that is being written.
        if Run::open_without_seconds(path)?.goes_on {
            return Err(StoreError::GoesOn(path.to_owned()));
        }
        let archive = ArchiveDirectory::open(path).map_err(StoreError::io(path))?;
        let contents = Contents::of(&archive).map_err(StoreError::io(path))?;
        let bytes = i64::try_from(contents.bytes()).unwrap_or(i64::MAX);
        let Some(location) = self.artefacts.location(path) else {
            // What another store says about its archives counts there.
            let location = self.artefacts.keep(&archive, &contents)?;
            return Ok((contents.digest(), Kept { location, bytes, pruned_unix_ns: None, pins: Pins::default() }));
        };
        let pins = Pins::read(&archive).map_err(StoreError::io(path))?;
        let pruned = PrunedContents::read(&archive, &contents).map_err(StoreError::io(path))?;
        let pruned_unix_ns = pruned.as_ref().map(|pruned| pruned.pruned_unix_ns);
        let digest = pruned.map_or_else(|| contents.digest(), |pruned| pruned.contents.digest());
        Ok((digest, Kept { location, bytes, pruned_unix_ns, pins }))
    }

    fn prepared(&self, digest: String, kept: Kept, assess: &dyn Assess) -> Result<Prepared, StoreError> {
        let run = Run::open(self.artefacts.path(&kept.location))?;
        let record = RunRecord::of(&run, &assess.assess(&run));
        let Kept { location, bytes, pruned_unix_ns, pins } = kept;
        Ok(Prepared { digest, location, bytes, pruned_unix_ns, pins, record })
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

    pub(crate) async fn record(&self, prepared: &Prepared, again: bool) -> Result<Ingested, StoreError> {
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
        let mut writing = self.database.write().await?;
        write_documents(&mut writing, &prepared.record).await?;
        write_scenario(&mut writing, &prepared.record).await?;
        self.database.lock_scenario(&mut writing, &prepared.record.scenario).await?;
        let mut removed = remove_other_at(&mut writing, &prepared.location, &prepared.digest).await?;
        if again {
            removed |= remove(&mut writing, &prepared.digest).await?;
        }
        let added = write_run(&mut writing, prepared).await?;
        if added {
            write_coverage(&mut writing, &prepared.record).await?;
            write_series(&mut writing, &prepared.record).await?;
            write_causes(&mut writing, prepared).await?;
            prepared.pins.write_rows(&mut writing, &prepared.digest).await?;
            write_recent(&mut writing, &prepared.record.scenario).await?;
        }
        writing.commit().await?;
        let outcome = match (removed, added) {
            (true, _) => Outcome::Replaced,
            (false, true) => Outcome::Added,
            (false, false) => Outcome::Known,
        };
        Ok(Ingested {
            digest: prepared.digest.clone(),
            id: prepared.record.id.clone(),
            board: prepared.record.board.clone(),
            location: prepared.location.clone(),
            outcome,
        })
    }
}

#[derive(Debug)]
struct Kept {
    location: String,
    bytes: i64,
    pruned_unix_ns: Option<i64>,
    pins: Pins,
}

async fn write_scenario(writing: &mut Writing<'_>, record: &RunRecord) -> Result<(), StoreError> {
    let sql = "INSERT INTO scenarios (scenario, words, board, load, method, recent_from_unix_ns) \
               VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (scenario) DO NOTHING";
    let query = sqlx::query(sql).bind(&record.scenario).bind(&record.words).bind(&record.board).bind(&record.load);
    query.bind(&record.method).bind(i64::MIN).execute(&mut *writing.transaction).await?;
    Ok(())
}

async fn write_documents(writing: &mut Writing<'_>, record: &RunRecord) -> Result<(), StoreError> {
    for document in [&record.environment, &record.settings] {
        let sql = "INSERT INTO documents (document, json) VALUES ($1, $2) ON CONFLICT (document) DO NOTHING";
        sqlx::query(sql).bind(&document.name).bind(&document.json).execute(&mut *writing.transaction).await?;
    }
    Ok(())
}

/// Whether the run was not there yet.
async fn write_run(writing: &mut Writing<'_>, prepared: &Prepared) -> Result<bool, StoreError> {
    let sql = "INSERT INTO runs (digest, location, id, scenario, kernel, kernel_line, preemption, environment, settings, \
               started_unix_ns, measured_ns, state, valid, degraded, emulated, virtual_time, verdict, standing, samples, \
               latency_max_ns, limit_ns, over_limit, missed, spikes, worst_cause, histogram, outline, figures, summary, \
               bytes, ingested_unix_ns, pinned, pruned_unix_ns) \
               VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, \
               $22, $23, $24, $25, $26, $27, $28, $29, $30, $31, $32, $33) ON CONFLICT (digest) DO NOTHING";
    let run = &prepared.record;
    let figures = serde_json::to_string(&run.figures).expect("figures have only string keys");
    let written = sqlx::query(sql)
        .bind(&prepared.digest)
        .bind(&prepared.location)
        .bind(&run.id)
        .bind(&run.scenario)
        .bind(&run.kernel)
        .bind(&run.kernel_line)
        .bind(&run.preemption)
        .bind(&run.environment.name)
        .bind(&run.settings.name)
        .bind(run.started_unix_ns)
        .bind(run.measured_ns)
        .bind(&run.state)
        .bind(i64::from(run.valid))
        .bind(i64::from(run.degraded))
        .bind(i64::from(run.emulated))
        .bind(i64::from(run.virtual_time))
        .bind(word(&run.verdict))
        .bind(word(&run.standing))
        .bind(run.samples)
        .bind(run.latency_max_ns)
        .bind(run.limit_ns)
        .bind(run.over_limit)
        .bind(run.missed)
        .bind(run.spikes)
        .bind(run.worst_cause.as_deref())
        .bind(encode(&run.histogram))
        .bind(encode(&run.outline.as_histogram()))
        .bind(figures)
        .bind(&run.summary)
        .bind(prepared.bytes)
        .bind(now_unix_ns())
        .bind(prepared.pins.pins.len() as i64)
        .bind(prepared.pruned_unix_ns)
        .execute(&mut *writing.transaction)
        .await?;
    Ok(written.rows_affected() > 0)
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
    let sql = "INSERT INTO series (series, scenario, kernel_line, figure) VALUES ($1, $2, $3, $4) \
               ON CONFLICT (series) DO NOTHING";
    for figure in run.figures.compared.keys() {
        let figure = figure.to_string();
        let series = hex_of(&[&run.scenario, &run.kernel_line, &figure]);
        let query = sqlx::query(sql).bind(series).bind(&run.scenario).bind(&run.kernel_line);
        query.bind(crate::label::label(&figure)).execute(&mut *writing.transaction).await?;
    }
    Ok(())
}

async fn write_causes(writing: &mut Writing<'_>, prepared: &Prepared) -> Result<(), StoreError> {
    let sql = "INSERT INTO causes (digest, culprit, spikes, latency_max_ns) VALUES ($1, $2, $3, $4)";
    for (culprit, count) in &prepared.record.causes {
        let query = sqlx::query(sql).bind(&prepared.digest).bind(culprit).bind(count.spikes);
        query.bind(count.latency_max_ns).execute(&mut *writing.transaction).await?;
    }
    Ok(())
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

/// A run with more samples, or a longer one, is counted as this much, so that sums of a million runs do not overflow.
pub(crate) const SUMMABLE_MAX: i64 = 1 << 42;

fn summable(count: i64) -> i64 {
    count.clamp(0, SUMMABLE_MAX)
}
