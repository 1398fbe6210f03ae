//! Jobs that nothing will run, and workers that no longer report.

use super::Finding;
use crate::Store;
use crate::error::StoreError;
use std::collections::BTreeSet;
use words::figures::counted;

const MINUTE_NS: i64 = 60_000_000_000;
/// A worker reports every few seconds, and at least three times a lease.
const SILENT_NS: i64 = 10 * MINUTE_NS;
/// A lease that ended is noticed by the next worker that looks for a job.
const EXPIRED_NS: i64 = MINUTE_NS;

impl Store {
    pub(super) async fn queue_health(&self, now_unix_ns: i64, index: &str) -> Result<Vec<Finding>, StoreError> {
        let (pool, mut findings) = (self.database.pool(), Vec::new());
        let workers = self.workers().await?;
        let silent_since = now_unix_ns.saturating_sub(SILENT_NS);
        let (reporting, silent): (Vec<_>, Vec<_>) =
            workers.into_iter().partition(|worker| worker.heartbeat_unix_ns >= silent_since);
        for worker in silent {
            let minutes = now_unix_ns.saturating_sub(worker.heartbeat_unix_ns) / MINUTE_NS;
            let detail = format!("worker {} last reported {minutes} minutes ago", worker.worker);
            let fix = "start it again, or leave it: it is forgotten after a week";
            findings.push(Finding::new("worker-silent", detail, fix));
        }
        let reached: BTreeSet<&String> = reporting.iter().flat_map(|worker| &worker.boards).collect();
        let sql = "SELECT board, COUNT(*) FROM jobs WHERE state = 'queued' AND queued_unix_ns < $1 GROUP BY board ORDER BY board";
        let waiting: Vec<(String, i64)> = sqlx::query_as(sql).bind(silent_since).fetch_all(pool).await?;
        for (board, jobs) in waiting.iter().filter(|(board, _)| !reached.contains(board)) {
            let detail = format!("{} of {board} and no worker that reaches it", counted(jobs.unsigned_abs(), "job"));
            findings.push(Finding::new(
                "board-without-worker",
                detail,
                format!("`tardy lab worker --board {board}{index}`"),
            ));
        }
        let sql = "SELECT COUNT(*) FROM jobs WHERE state = 'running' AND lease_until_unix_ns < $1";
        let until = now_unix_ns.saturating_sub(EXPIRED_NS);
        let (expired,): (i64,) = sqlx::query_as(sql).bind(until).fetch_one(pool).await?;
        if expired > 0 {
            let detail = format!("{} with a lease that ended", counted(expired.unsigned_abs(), "running job"));
            findings.push(Finding::new("lease-ended", detail, "start a worker: it queues them again"));
        }
        let sql = "SELECT COUNT(*) FROM jobs WHERE (state = 'running') <> (lease IS NOT NULL)";
        let (unowned,): (i64,) = sqlx::query_as(sql).fetch_one(pool).await?;
        if unowned > 0 {
            let detail =
                format!("{} whose state and lease contradict each other", counted(unowned.unsigned_abs(), "job"));
            findings.push(Finding::new("lease-without-job", detail, "report this: it is a defect of tardy"));
        }
        Ok(findings)
    }
}
