//! Plans that are queued by themselves, and who set them up.

use super::JobRequest;
use super::plan_kernel::with_kernel;
use crate::Store;
use crate::actions::{self, Action};
use crate::database::Writing;
use crate::error::StoreError;
use crate::label::label;
use crate::row::{count, flag, get, json};
use serde::{Deserialize, Serialize};
use sqlx::any::AnyRow;

/// A trigger to set up.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TriggerRequest {
    /// Part of the address of its webhook.
    pub name: String,
    pub boards: Vec<String>,
    pub plan_name: String,
    /// The complete text of the plan's file; `{kernel}` stands for the kernel that a job is for.
    pub plan: String,
    /// Kernels from old to new, as boards report them.
    pub kernels: Vec<String>,
    pub priority: i64,
    pub attempts_max: i64,
    /// Interval of a schedule, and its first instant.
    pub every_ns: Option<i64>,
    pub next_unix_ns: Option<i64>,
    /// Key of the signatures of a webhook.
    pub secret: Option<String>,
    /// The branch of which a webhook takes pushes; without it, those of all.
    pub branch: Option<String>,
}

/// A trigger, without its secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Trigger {
    pub name: String,
    pub boards: Vec<String>,
    pub plan_name: String,
    pub plan: String,
    /// Kernels from old to new; backfill queues those around a change.
    pub kernels: Vec<String>,
    pub priority: i64,
    pub attempts_max: u64,
    pub every_ns: Option<i64>,
    /// When it queues its plan next; `None` without a schedule.
    pub next_unix_ns: Option<i64>,
    /// Whether it has a webhook.
    pub webhook: bool,
    pub branch: Option<String>,
    pub created_by: String,
    pub created_unix_ns: i64,
}

/// Columns of a [`Trigger`]. Its secret leaves the database for the check of a signature alone.
macro_rules! trigger_columns {
    () => {
        "name, name AS digest, boards, plan_name, plan, kernels, priority, attempts_max, every_ns, next_unix_ns, \
         CASE WHEN secret IS NULL THEN 0 ELSE 1 END AS webhook, branch, created_by, created_unix_ns"
    };
}
pub(crate) use trigger_columns;

impl Store {
    /// Sets up a trigger for `who`. `false`: there is one of that name.
    ///
    /// # Errors
    /// Errors of the database.
    pub async fn add_trigger(&self, request: &TriggerRequest, who: &str) -> Result<bool, StoreError> {
        let at_unix_ns = self.now_unix_ns().await?;
        let boards: Vec<String> = request.boards.iter().map(|board| label(board)).collect();
        let sql = "INSERT INTO triggers (name, boards, plan_name, plan, kernels, priority, attempts_max, every_ns, \
                   next_unix_ns, secret, branch, created_by, created_unix_ns) \
                   VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13) ON CONFLICT (name) DO NOTHING";
        let mut writing = self.database.write().await?;
        let query = sqlx::query(sql)
            .bind(&request.name)
            .bind(listed(&boards))
            .bind(label(&request.plan_name))
            .bind(&request.plan)
            .bind(listed(&request.kernels))
            .bind(request.priority)
            .bind(request.attempts_max.max(1))
            .bind(request.every_ns)
            .bind(request.next_unix_ns)
            .bind(&request.secret)
            .bind(&request.branch)
            .bind(label(who))
            .bind(at_unix_ns);
        let added = query.execute(&mut *writing.transaction).await?.rows_affected() > 0;
        if added {
            logged(&mut writing, &request.name, who, "added", at_unix_ns).await?;
        }
        writing.commit().await?;
        Ok(added)
    }

    /// Removes a trigger and what its webhook took; its jobs stay. `false`: there is none of that name.
    ///
    /// # Errors
    /// Errors of the database.
    pub async fn remove_trigger(&self, name: &str, who: &str) -> Result<bool, StoreError> {
        let at_unix_ns = self.now_unix_ns().await?;
        let mut writing = self.database.write().await?;
        let query = sqlx::query("DELETE FROM triggers WHERE name = $1").bind(name);
        let removed = query.execute(&mut *writing.transaction).await?.rows_affected() > 0;
        if removed {
            logged(&mut writing, name, who, "removed", at_unix_ns).await?;
        }
        writing.commit().await?;
        Ok(removed)
    }

    /// Every trigger by name; at most 1000.
    ///
    /// # Errors
    /// Errors of the database.
    pub async fn triggers(&self) -> Result<Vec<Trigger>, StoreError> {
        let sql = concat!("SELECT ", trigger_columns!(), " FROM triggers ORDER BY name LIMIT 1000");
        sqlx::query(sql).fetch_all(self.database.pool()).await?.iter().map(Trigger::of).collect()
    }

    /// A trigger with the secret of its webhook; `None` if there is none of that name.
    ///
    /// # Errors
    /// Errors of the database.
    pub async fn trigger(&self, name: &str) -> Result<Option<(Trigger, Option<String>)>, StoreError> {
        let sql = concat!("SELECT ", trigger_columns!(), ", secret FROM triggers WHERE name = $1");
        let row = sqlx::query(sql).bind(name).fetch_optional(self.database.pool()).await?;
        row.as_ref().map(|row| Ok((Trigger::of(row)?, get(row, "secret")?))).transpose()
    }
}

impl Trigger {
    pub(crate) fn of(row: &AnyRow) -> Result<Self, StoreError> {
        Ok(Self {
            name: get(row, "name")?,
            boards: json(row, "boards")?,
            plan_name: get(row, "plan_name")?,
            plan: get(row, "plan")?,
            kernels: json(row, "kernels")?,
            priority: get(row, "priority")?,
            attempts_max: count(row, "attempts_max")?,
            every_ns: get(row, "every_ns")?,
            next_unix_ns: get(row, "next_unix_ns")?,
            webhook: flag(row, "webhook")?,
            branch: get(row, "branch")?,
            created_by: get(row, "created_by")?,
            created_unix_ns: get(row, "created_unix_ns")?,
        })
    }

    /// Its plan as a job for a board.
    pub fn request(&self, board: &str, kernel: Option<&str>, because: &str) -> JobRequest {
        JobRequest {
            board: board.to_owned(),
            plan_name: self.plan_name.clone(),
            plan: kernel.map_or_else(|| self.plan.clone(), |kernel| with_kernel(&self.plan, kernel)),
            kernel: kernel.map(str::to_owned),
            because: because.to_owned(),
            priority: self.priority,
            attempts_max: i64::try_from(self.attempts_max).unwrap_or(i64::MAX),
        }
    }
}

async fn logged(
    writing: &mut Writing<'_>,
    name: &str,
    who: &str,
    detail: &str,
    at_unix_ns: i64,
) -> Result<(), StoreError> {
    let (who, what) = (who.to_owned(), "trigger".to_owned());
    let action = Action { at_unix_ns, who, what, subject: name.to_owned(), detail: detail.to_owned() };
    actions::write(writing, &action).await
}

pub fn listed(names: &[String]) -> String {
    serde_json::to_string(names).expect("names are text")
}
