//! A job: a plan to run on a board.

use crate::error::StoreError;
use crate::row::{count, get, worded};
use serde::{Deserialize, Serialize};
use sqlx::any::AnyRow;

/// A plan to queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobRequest {
    pub board: String,
    pub plan_name: String,
    /// The complete text of the plan's file.
    pub plan: String,
    /// The kernel that it is for, if it is for one.
    pub kernel: Option<String>,
    /// Who or what asked for it.
    pub because: String,
    /// Jobs with a higher one run first.
    pub priority: i64,
    /// How often it is started at most.
    pub attempts_max: i64,
}

/// Outcome of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum JobState {
    Queued,
    /// A worker has a lease on it.
    Running,
    /// Its runs are in the index.
    Done,
    /// It was started as often as it may be, or a worker gave it up.
    Failed,
    Cancelled,
}

impl JobState {
    /// As on pages, on the command line and in documents.
    pub fn word(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }
}

/// A job of the queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Job {
    pub job: String,
    pub board: String,
    pub plan_name: String,
    pub plan: String,
    pub kernel: Option<String>,
    pub because: String,
    pub priority: i64,
    pub queued_unix_ns: i64,
    pub state: JobState,
    /// How often it was started.
    pub attempts: u64,
    pub attempts_max: u64,
    /// The worker that runs it, or ran it last.
    pub worker: Option<String>,
    /// Until when its worker must report; `None` unless it runs.
    pub lease_until_unix_ns: Option<i64>,
    pub started_unix_ns: Option<i64>,
    pub ended_unix_ns: Option<i64>,
    /// How the last attempt ended; empty before.
    pub message: String,
    /// Addresses of its runs; empty in lists.
    pub runs: Vec<String>,
}

impl Job {
    /// Whether its worker should have reported by now: the next claim of a worker queues it again.
    pub fn is_overdue(&self, now_unix_ns: i64) -> bool {
        self.state == JobState::Running && self.lease_until_unix_ns.is_none_or(|until| until <= now_unix_ns)
    }
}

/// Columns of a [`Job`].
macro_rules! job_columns {
    () => {
        "job, board, plan_name, plan, kernel, because, priority, queued_unix_ns, state, attempts, attempts_max, worker, \
         lease_until_unix_ns, started_unix_ns, ended_unix_ns, message, job AS digest"
    };
}
pub(crate) use job_columns;

impl Job {
    pub(crate) fn of(row: &AnyRow) -> Result<Self, StoreError> {
        Ok(Self {
            job: get(row, "job")?,
            board: get(row, "board")?,
            plan_name: get(row, "plan_name")?,
            plan: get(row, "plan")?,
            kernel: get(row, "kernel")?,
            because: get(row, "because")?,
            priority: get(row, "priority")?,
            queued_unix_ns: get(row, "queued_unix_ns")?,
            state: worded(row, "state")?,
            attempts: count(row, "attempts")?,
            attempts_max: count(row, "attempts_max")?,
            worker: get(row, "worker")?,
            lease_until_unix_ns: get(row, "lease_until_unix_ns")?,
            started_unix_ns: get(row, "started_unix_ns")?,
            ended_unix_ns: get(row, "ended_unix_ns")?,
            message: get(row, "message")?,
            runs: Vec::new(),
        })
    }
}
