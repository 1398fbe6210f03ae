//! Plans to run on boards, queued by people, programs and triggers. A worker claims a job with a lease that it renews; a job whose lease ran out is queued again.
//!
//! Instants come from the caller, who takes them from [`Store::now_unix_ns`]: hosts need no common clock, and tests no
//! waiting.

pub mod backfill;
mod claim;
mod deliveries;
mod job;
pub mod plan_kernel;
mod schedule;
mod triggers;
mod workers;

pub use claim::{Claim, Ended};
pub use deliveries::{DELIVERIES_WAITING_MAX, Delivery};
pub use job::{Job, JobRequest, JobState};
pub use triggers::{Trigger, TriggerRequest};
pub use workers::WorkerRow;

use crate::Store;
use crate::actions::{self, Action};
use crate::database::Writing;
use crate::error::StoreError;
use crate::label::label;
use crate::record::word;
use crate::row::{get, worded};
use crate::standing::Standing;
use crate::unique_name::unique_name;
pub(crate) use job::job_columns;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Directory of the rounds of jobs, below the archives.
const JOBS: &str = "jobs";

/// Where the archives of a job are, below a directory of archives.
pub fn job_directory(archives: &Path, job: &str) -> PathBuf {
    archives.join(JOBS).join(job)
}

/// A run of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobRun {
    pub digest: String,
    pub standing: Standing,
    /// Why it is undecided.
    pub because: Option<&'static str>,
}

/// Jobs that a list has at most.
pub const JOBS_MAX: i64 = 1000;

impl Store {
    /// Queues a plan for a board. It is acknowledged when this returns.
    ///
    /// # Errors
    /// Errors of the database.
    pub async fn queue(&self, request: &JobRequest, now_unix_ns: i64) -> Result<Job, StoreError> {
        let mut writing = self.database.write().await?;
        let name = insert(&mut writing, request, now_unix_ns).await?;
        writing.commit().await?;
        self.job(&name).await?.ok_or(StoreError::Row(name))
    }

    /// Queues all of these for `who`, or none. Where a job of the same plan, board and kernel waits or runs, no second one is
    /// queued; only new jobs are returned.
    ///
    /// # Errors
    /// Errors of the database.
    pub async fn queue_missing(&self, requests: &[JobRequest], who: &str) -> Result<Vec<Job>, StoreError> {
        let at_unix_ns = self.now_unix_ns().await?;
        let mut writing = self.database.write().await?;
        let mut names = Vec::new();
        for request in requests {
            if is_waiting(&mut writing, request).await? {
                continue;
            }
            let name = insert(&mut writing, request, at_unix_ns).await?;
            let (who, what) = (who.to_owned(), "queue".to_owned());
            let detail = format!("{} on {}", request.plan_name, request.board);
            let action = Action { at_unix_ns, who, what, subject: name.clone(), detail };
            actions::write(&mut writing, &action).await?;
            names.push(name);
        }
        writing.commit().await?;
        self.jobs_of(&names).await
    }

    async fn jobs_of(&self, names: &[String]) -> Result<Vec<Job>, StoreError> {
        let mut jobs = Vec::new();
        for name in names {
            jobs.extend(self.job(name).await?);
        }
        Ok(jobs)
    }

    /// A job by its name; `None` if there is none.
    ///
    /// # Errors
    /// Errors of the database.
    pub async fn job(&self, name: &str) -> Result<Option<Job>, StoreError> {
        let sql = concat!("SELECT ", job_columns!(), " FROM jobs WHERE job = $1");
        let row = sqlx::query(sql).bind(name).fetch_optional(self.database.pool()).await?;
        let Some(mut job) = row.as_ref().map(Job::of).transpose()? else { return Ok(None) };
        let sql = "SELECT digest FROM job_runs WHERE job = $1 ORDER BY digest";
        let runs: Vec<(String,)> = sqlx::query_as(sql).bind(name).fetch_all(self.database.pool()).await?;
        job.runs = runs.into_iter().map(|(digest,)| digest).collect();
        Ok(Some(job))
    }

    /// The newest jobs, newest first; at most [`JOBS_MAX`]. Their runs are not listed.
    ///
    /// # Errors
    /// Errors of the database.
    pub async fn jobs(&self, count: i64) -> Result<Vec<Job>, StoreError> {
        let sql = concat!("SELECT ", job_columns!(), " FROM jobs ORDER BY queued_unix_ns DESC, job DESC LIMIT $1");
        let query = sqlx::query(sql).bind(count.clamp(0, JOBS_MAX));
        query.fetch_all(self.database.pool()).await?.iter().map(Job::of).collect()
    }

    /// The runs of each of the newest jobs, as far as the index has them.
    ///
    /// # Errors
    /// Errors of the database.
    pub async fn runs_of_jobs(&self, count: i64) -> Result<BTreeMap<String, Vec<JobRun>>, StoreError> {
        let sql = "SELECT j.job, r.digest, r.standing, r.verdict, r.limit_ns FROM job_runs j JOIN runs r ON r.digest = j.digest \
                   WHERE j.job IN (SELECT job FROM jobs ORDER BY queued_unix_ns DESC, job DESC LIMIT $1) \
                   ORDER BY r.started_unix_ns, r.digest";
        let query = sqlx::query(sql).bind(count.clamp(0, JOBS_MAX));
        let mut runs: BTreeMap<String, Vec<JobRun>> = BTreeMap::new();
        for row in query.fetch_all(self.database.pool()).await? {
            let standing: Standing = worded(&row, "standing")?;
            let because = standing.undecided_because(worded(&row, "verdict")?, get(&row, "limit_ns")?);
            runs.entry(get(&row, "job")?).or_default().push(JobRun { digest: get(&row, "digest")?, standing, because });
        }
        Ok(runs)
    }

    /// Whether a worker reaches a board, or the index has a run of it.
    ///
    /// # Errors
    /// Errors of the database.
    pub async fn knows_board(&self, board: &str) -> Result<bool, StoreError> {
        let board = label(board);
        let reached = self.workers().await?.iter().any(|worker| worker.boards.contains(&board));
        Ok(reached || !self.scenarios(&board).await?.is_empty())
    }

    /// Cancels a job that no worker runs, and records who did. Returns whether it did.
    ///
    /// # Errors
    /// Errors of the database.
    pub async fn cancel(&self, name: &str, who: &str, now_unix_ns: i64) -> Result<bool, StoreError> {
        let sql = "UPDATE jobs SET state = 'cancelled', ended_unix_ns = $2 WHERE job = $1 AND state = 'queued'";
        let mut writing = self.database.write().await?;
        let query = sqlx::query(sql).bind(name).bind(now_unix_ns);
        let cancelled = query.execute(&mut *writing.transaction).await?.rows_affected() > 0;
        if cancelled {
            let (who, what) = (who.to_owned(), "cancel".to_owned());
            let (at_unix_ns, subject) = (now_unix_ns, name.to_owned());
            let action = Action { at_unix_ns, who, what, subject, detail: "a queued job".into() };
            actions::write(&mut writing, &action).await?;
        }
        writing.commit().await?;
        Ok(cancelled)
    }
}

/// Adds a row; the name of the job.
async fn insert(writing: &mut Writing<'_>, request: &JobRequest, now_unix_ns: i64) -> Result<String, StoreError> {
    let name = unique_name();
    let sql = "INSERT INTO jobs (job, board, plan_name, plan, kernel, because, priority, queued_unix_ns, state, attempts, \
               attempts_max, message) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 0, $10, '')";
    sqlx::query(sql)
        .bind(&name)
        .bind(label(&request.board))
        .bind(label(&request.plan_name))
        .bind(&request.plan)
        .bind(request.kernel.as_deref().map(label))
        .bind(label(&request.because))
        .bind(request.priority)
        .bind(now_unix_ns)
        .bind(word(&JobState::Queued))
        .bind(request.attempts_max.max(1))
        .execute(&mut *writing.transaction)
        .await?;
    Ok(name)
}

/// Whether a job of the same plan for the same board and kernel waits or runs.
async fn is_waiting(writing: &mut Writing<'_>, request: &JobRequest) -> Result<bool, StoreError> {
    let sql = "SELECT COUNT(*) FROM jobs WHERE board = $1 AND plan_name = $2 AND COALESCE(kernel, '') = $3 \
               AND state IN ('queued', 'running')";
    let query = sqlx::query_as(sql).bind(label(&request.board)).bind(label(&request.plan_name));
    let kernel = request.kernel.as_deref().map(label).unwrap_or_default();
    let (jobs,): (i64,) = query.bind(kernel).fetch_one(&mut *writing.transaction).await?;
    Ok(jobs > 0)
}
