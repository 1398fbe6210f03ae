//! Plans to run on boards. A worker claims a job with a lease that it renews; a job whose lease ran out is queued again.
//!
//! Instants come from the caller, who takes them from [`Store::now_unix_ns`]: hosts need no common clock, and tests no
//! waiting.

pub mod backfill;
mod claim;
mod job;
mod workers;

pub use claim::{Claim, Ended};
pub use job::{Job, JobRequest, JobState};
pub use workers::WorkerRow;

use crate::Store;
use crate::error::StoreError;
use crate::label::label;
use crate::record::word;
use job::job_columns;
use sha2::{Digest, Sha256};
use std::sync::atomic::{AtomicU64, Ordering};

/// Jobs that a list has at most.
pub const JOBS_MAX: i64 = 1000;

impl Store {
    /// Queues a plan for a board. It is acknowledged when this returns.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn queue(&self, request: &JobRequest, now_unix_ns: i64) -> Result<Job, StoreError> {
        let name = unique();
        let sql = "INSERT INTO jobs (job, board, plan_name, plan, kernel, because, priority, queued_unix_ns, state, attempts, \
                   attempts_max, message) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 0, $10, '')";
        let mut writing = self.database.write().await?;
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
        writing.commit().await?;
        self.job(&name).await?.ok_or(StoreError::Row(name))
    }

    /// A job by its name; `None` if there is none.
    ///
    /// # Errors
    /// Those of the database.
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
    /// Those of the database.
    pub async fn jobs(&self, count: i64) -> Result<Vec<Job>, StoreError> {
        let sql = concat!("SELECT ", job_columns!(), " FROM jobs ORDER BY queued_unix_ns DESC, job DESC LIMIT $1");
        let query = sqlx::query(sql).bind(count.clamp(0, JOBS_MAX));
        query.fetch_all(self.database.pool()).await?.iter().map(Job::of).collect()
    }

    /// Cancels a job that no worker runs. Returns whether it did.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn cancel(&self, name: &str, now_unix_ns: i64) -> Result<bool, StoreError> {
        let sql = "UPDATE jobs SET state = 'cancelled', ended_unix_ns = $2 WHERE job = $1 AND state = 'queued'";
        let mut writing = self.database.write().await?;
        let query = sqlx::query(sql).bind(name).bind(now_unix_ns);
        let cancelled = query.execute(&mut *writing.transaction).await?.rows_affected() > 0;
        writing.commit().await?;
        Ok(cancelled)
    }
}

/// A name that no other process chooses: of this process, this instant, and a number.
pub(crate) fn unique() -> String {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let mut hasher = Sha256::new();
    hasher.update(std::fs::read("/proc/sys/kernel/random/uuid").unwrap_or_default());
    hasher.update(std::process::id().to_le_bytes());
    hasher.update(crate::database::now_unix_ns().to_le_bytes());
    hasher.update(NUMBER.fetch_add(1, Ordering::Relaxed).to_le_bytes());
    hasher.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}
