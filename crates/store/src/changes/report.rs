//! One message for each change, with what leads on from it: the first run after it, its kernel and its cause.

use super::{Change, Triage};
use crate::Store;
use crate::error::StoreError;
use crate::queries::run::RunRow;
use serde::{Deserialize, Serialize};

/// The message about a change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChangeReport {
    pub change: Change,
    /// Board, load and way to measure.
    pub words: String,
    /// The first run after the change; its `worst_cause` is what delayed it most.
    pub first: RunRow,
}

impl Store {
    /// Hands each change that was never reported to `send`, and marks it as reported if that returns true. Of several
    /// processes at once one sends a message; after a crash in between it is sent again.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn report_changes(
        &self,
        now_unix_ns: i64,
        send: &mut (dyn FnMut(&ChangeReport) -> bool + Send),
    ) -> Result<u64, StoreError> {
        let mut sent = 0;
        for change in self.changes(None).await?.into_iter().rev() {
            if change.reported_unix_ns.is_some() || change.triage != Triage::New {
                continue;
            }
            let Some(run) = self.run(&change.after_digest).await? else { continue };
            let report = ChangeReport { words: run.words, first: run.run, change };
            let mut writing = self.database.write().await?;
            let sql = "UPDATE changes SET reported_unix_ns = $2 WHERE change = $1 AND reported_unix_ns IS NULL";
            let query = sqlx::query(sql).bind(&report.change.change).bind(now_unix_ns);
            let mine = query.execute(&mut *writing.transaction).await?.rows_affected() > 0;
            // Another process that wants to report it waits for this transaction.
            if mine && send(&report) {
                writing.commit().await?;
                sent += 1;
            }
        }
        Ok(sent)
    }
}
