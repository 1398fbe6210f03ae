//! The audit log: who changed what, and when. It is in the index alone.

use crate::Store;
use crate::database::Writing;
use crate::error::StoreError;
use crate::label::label;
use crate::row::get;
use crate::unique_name::unique_name;
use serde::{Deserialize, Serialize};
use sqlx::any::AnyRow;

/// Most actions of a list.
pub const ACTIONS_MAX: i64 = 1000;

/// One entry of the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Action {
    /// By the clock of the index.
    pub at_unix_ns: i64,
    /// Name of the token, or `USER@HOST` of a command line.
    pub who: String,
    /// `triage`, `upload`, `queue`, `cancel`, `trigger` or `alert`.
    pub what: String,
    /// Name of the change, the job, the trigger or the message, or address of the archive.
    pub subject: String,
    /// Such as the new triage.
    pub detail: String,
}

impl Store {
    /// Records an action that changed no row of the index by itself.
    ///
    /// # Errors
    /// Errors of the database.
    pub async fn record_action(&self, who: &str, what: &str, subject: &str, detail: &str) -> Result<(), StoreError> {
        let at_unix_ns = self.now_unix_ns().await?;
        let (who, what) = (who.to_owned(), what.to_owned());
        let action = Action { at_unix_ns, who, what, subject: subject.to_owned(), detail: detail.to_owned() };
        let mut writing = self.database.write().await?;
        write(&mut writing, &action).await?;
        writing.commit().await
    }

    /// The newest actions, newest first; at most [`ACTIONS_MAX`].
    ///
    /// # Errors
    /// Errors of the database.
    pub async fn actions(&self, count: i64) -> Result<Vec<Action>, StoreError> {
        let sql =
            "SELECT at_unix_ns, who, what, subject, detail FROM actions ORDER BY at_unix_ns DESC, action DESC LIMIT $1";
        let query = sqlx::query(sql).bind(count.clamp(0, ACTIONS_MAX));
        let action = |row: &AnyRow| {
            Ok(Action {
                at_unix_ns: get(row, "at_unix_ns")?,
                who: get(row, "who")?,
                what: get(row, "what")?,
                subject: get(row, "subject")?,
                detail: get(row, "detail")?,
            })
        };
        query.fetch_all(self.database.pool()).await?.iter().map(action).collect()
    }
}

/// Writes it in the transaction of what it describes, so that neither is there without the other.
pub(crate) async fn write(writing: &mut Writing<'_>, action: &Action) -> Result<(), StoreError> {
    let sql = "INSERT INTO actions (action, at_unix_ns, who, what, subject, detail) VALUES ($1, $2, $3, $4, $5, $6)";
    let query =
        sqlx::query(sql).bind(unique_name()).bind(action.at_unix_ns).bind(label(&action.who)).bind(&action.what);
    let query = query.bind(label(&action.subject)).bind(label(&action.detail));
    query.execute(&mut *writing.transaction).await?;
    Ok(())
}
