//! How much the index has: runs, jobs by state, changes by triage.

use crate::Store;
use crate::changes::Triage;
use crate::error::StoreError;
use crate::queue::JobState;
use crate::row::{count, get, worded};

/// Numbers of rows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts {
    pub runs: u64,
    /// States without a job are left out.
    pub jobs: Vec<(JobState, u64)>,
    /// When the job that waits longest was queued; `None` if none waits.
    pub oldest_queued_unix_ns: Option<i64>,
    /// Triages without a change are left out.
    pub changes: Vec<(Triage, u64)>,
}

impl Store {
    /// Counts the rows.
    ///
    /// # Errors
    /// Errors of the database.
    pub async fn counts(&self) -> Result<Counts, StoreError> {
        let pool = self.database.pool();
        let (runs,): (i64,) = sqlx::query_as("SELECT COUNT(*) FROM runs").fetch_one(pool).await?;
        let mut counts = Counts { runs: u64::try_from(runs).unwrap_or(0), ..Counts::default() };
        let sql = "SELECT state, state AS digest, COUNT(*) AS number, MIN(queued_unix_ns) AS oldest FROM jobs \
                   GROUP BY state ORDER BY state";
        for row in sqlx::query(sql).fetch_all(pool).await? {
            let state = worded(&row, "state")?;
            counts.jobs.push((state, count(&row, "number")?));
            if state == JobState::Queued {
                counts.oldest_queued_unix_ns = get(&row, "oldest")?;
            }
        }
        let sql = "SELECT triage, triage AS digest, COUNT(*) AS number FROM changes GROUP BY triage ORDER BY triage";
        for row in sqlx::query(sql).fetch_all(pool).await? {
            counts.changes.push((worded(&row, "triage")?, count(&row, "number")?));
        }
        Ok(counts)
    }
}
