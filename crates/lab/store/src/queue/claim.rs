//! Claims of jobs. A lease is a name that only its claim knows: a worker that was too late cannot end the job of another.

use super::job::{Job, JobState, job_columns};
use crate::Store;
use crate::error::StoreError;
use crate::label::label;
use crate::record::word;
use crate::unique_name::unique_name;
use std::time::Duration;

/// A job that a worker may run until its lease ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    pub job: Job,
    pub lease: String,
    pub until_unix_ns: i64,
}

/// How a worker ended a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    /// These runs are in the index.
    Done { runs: Vec<String>, message: String },
    /// It may be tried again.
    Failed { message: String },
}

/// The next job of a board on which nothing runs.
macro_rules! next_job {
    ($lock:literal) => {
        concat!(
            "SELECT ",
            job_columns!(),
            " FROM jobs WHERE board = $1 AND state = 'queued' AND NOT EXISTS (SELECT 1 FROM jobs o WHERE o.board = $1 \
             AND o.state = 'running') ORDER BY priority DESC, queued_unix_ns, job LIMIT 1",
            $lock
        )
    };
}

impl Store {
    /// Claims the next job of the first of these boards that has one. Jobs whose lease ran out are queued again before.
    ///
    /// # Errors
    /// Errors of the database.
    pub async fn claim(
        &self,
        worker: &str,
        boards: &[String],
        lease: Duration,
        now_unix_ns: i64,
    ) -> Result<Option<Claim>, StoreError> {
        self.expire(now_unix_ns).await?;
        for board in boards {
            if let Some(claim) = self.claim_on(worker, &label(board), lease, now_unix_ns).await? {
                return Ok(Some(claim));
            }
        }
        Ok(None)
    }

    async fn claim_on(
        &self,
        worker: &str,
        board: &str,
        lease: Duration,
        now_unix_ns: i64,
    ) -> Result<Option<Claim>, StoreError> {
        let until_unix_ns = now_unix_ns.saturating_add(i64::try_from(lease.as_nanos()).unwrap_or(i64::MAX));
        let mut writing = self.database.write().await?;
        let sql = self.database.either(next_job!(""), next_job!(" FOR UPDATE SKIP LOCKED"));
        let Some(row) = sqlx::query(sql).bind(board).fetch_optional(&mut *writing.transaction).await? else {
            return Ok(None);
        };
        let found = Job::of(&row)?;
        let lease = unique_name();
        let sql = "UPDATE jobs SET state = 'running', attempts = attempts + 1, worker = $2, lease = $3, \
                   lease_until_unix_ns = $4, started_unix_ns = $5, ended_unix_ns = NULL WHERE job = $1 AND state = 'queued'";
        let query = sqlx::query(sql).bind(&found.job).bind(label(worker)).bind(&lease).bind(until_unix_ns);
        let claimed = match query.bind(now_unix_ns).execute(&mut *writing.transaction).await {
            // Another worker claimed another job of the board: the index on running jobs has one for each.
            Err(sqlx::Error::Database(error)) if error.is_unique_violation() => return Ok(None),
            claimed => claimed?.rows_affected() > 0,
        };
        if !claimed {
            return Ok(None);
        }
        match writing.commit().await {
            Err(StoreError::Database(sqlx::Error::Database(error))) if error.is_unique_violation() => return Ok(None),
            committed => committed?,
        }
        let job = Job {
            state: JobState::Running,
            attempts: found.attempts + 1,
            worker: Some(label(worker)),
            lease_until_unix_ns: Some(until_unix_ns),
            started_unix_ns: Some(now_unix_ns),
            ended_unix_ns: None,
            ..found
        };
        Ok(Some(Claim { job, lease, until_unix_ns }))
    }

    /// Renews a lease. `false`: it ran out, and the job may run elsewhere; the worker must stop it.
    ///
    /// # Errors
    /// Errors of the database.
    pub async fn renew(&self, claim: &mut Claim, lease: Duration, now_unix_ns: i64) -> Result<bool, StoreError> {
        let until = now_unix_ns.saturating_add(i64::try_from(lease.as_nanos()).unwrap_or(i64::MAX));
        let sql = "UPDATE jobs SET lease_until_unix_ns = $3 WHERE job = $1 AND lease = $2 AND lease_until_unix_ns > $4";
        let mut writing = self.database.write().await?;
        let query = sqlx::query(sql).bind(&claim.job.job).bind(&claim.lease).bind(until).bind(now_unix_ns);
        let renewed = query.execute(&mut *writing.transaction).await?.rows_affected() > 0;
        writing.commit().await?;
        if renewed {
            claim.until_unix_ns = until;
        }
        Ok(renewed)
    }

    /// Ends a job. `false`: its lease ran out before, and nothing changed.
    ///
    /// # Errors
    /// Errors of the database; ending it again is safe.
    pub async fn end(&self, claim: &Claim, ended: &Ended, now_unix_ns: i64) -> Result<bool, StoreError> {
        let (runs, message) = match ended {
            Ended::Done { runs, message } => (runs.as_slice(), message),
            Ended::Failed { message } => (&[][..], message),
        };
        let again = claim.job.attempts < claim.job.attempts_max;
        let state = match ended {
            Ended::Done { .. } => JobState::Done,
            Ended::Failed { .. } if again => JobState::Queued,
            Ended::Failed { .. } => JobState::Failed,
        };
        let sql = "UPDATE jobs SET state = $3, lease = NULL, lease_until_unix_ns = NULL, ended_unix_ns = $4, message = $5 \
                   WHERE job = $1 AND lease = $2";
        let mut writing = self.database.write().await?;
        let query = sqlx::query(sql).bind(&claim.job.job).bind(&claim.lease).bind(word(&state)).bind(now_unix_ns);
        if query.bind(label(message)).execute(&mut *writing.transaction).await?.rows_affected() == 0 {
            return Ok(false);
        }
        for digest in runs {
            let sql = "INSERT INTO job_runs (job, digest) VALUES ($1, $2) ON CONFLICT DO NOTHING";
            sqlx::query(sql).bind(&claim.job.job).bind(digest).execute(&mut *writing.transaction).await?;
        }
        writing.commit().await?;
        Ok(true)
    }

    /// Queues jobs again whose lease ran out, or gives them up after their last attempt. Returns their number.
    ///
    /// # Errors
    /// Errors of the database.
    pub async fn expire(&self, now_unix_ns: i64) -> Result<u64, StoreError> {
        let sql = "SELECT COUNT(*) FROM jobs WHERE state = 'running' AND lease_until_unix_ns <= $1";
        let (late,): (i64,) = sqlx::query_as(sql).bind(now_unix_ns).fetch_one(self.database.pool()).await?;
        if late == 0 {
            return Ok(0);
        }
        let sql = "UPDATE jobs SET state = CASE WHEN attempts >= attempts_max THEN 'failed' ELSE 'queued' END, lease = NULL, \
                   lease_until_unix_ns = NULL, ended_unix_ns = $1, message = 'the worker no longer reports' \
                   WHERE state = 'running' AND lease_until_unix_ns <= $1";
        let mut writing = self.database.write().await?;
        let expired = sqlx::query(sql).bind(now_unix_ns).execute(&mut *writing.transaction).await?.rows_affected();
        writing.commit().await?;
        Ok(expired)
    }
}
