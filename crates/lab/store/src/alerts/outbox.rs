//! Puts messages into the outbox, and gives up ones a new chance.

use super::Alert;
use crate::Store;
use crate::actions::{self, Action};
use crate::changes::{ChangeReport, Triage};
use crate::error::StoreError;
use crate::label::{hex_of, label};
use std::collections::BTreeSet;

impl Store {
    /// Makes a destination known. It gets changes that are found at `since_unix_ns` or later; one that is known keeps its
    /// instant.
    ///
    /// # Errors
    /// Errors of the database.
    pub async fn add_destination(&self, destination: &str, since_unix_ns: i64) -> Result<(), StoreError> {
        let sql = "INSERT INTO destinations (destination, since_unix_ns) VALUES ($1, $2) ON CONFLICT DO NOTHING";
        let mut writing = self.database.write().await?;
        let query = sqlx::query(sql).bind(label(destination)).bind(since_unix_ns);
        query.execute(&mut *writing.transaction).await?;
        writing.commit().await
    }

    /// Queues a message to a destination about each change that is new, was found since the destination is known, and is
    /// wanted there. Returns how many; one that was queued before is not queued again.
    ///
    /// # Errors
    /// Errors of the database.
    pub async fn queue_alerts(
        &self,
        destination: &str,
        wanted: &(dyn Fn(&ChangeReport) -> bool + Sync),
        now_unix_ns: i64,
    ) -> Result<u64, StoreError> {
        let destination = label(destination);
        let sql = "SELECT c.change FROM changes c JOIN destinations d ON d.destination = $1 \
                   WHERE c.triage = 'new' AND c.found_unix_ns >= d.since_unix_ns \
                   AND NOT EXISTS (SELECT 1 FROM alerts a WHERE a.change = c.change AND a.destination = $1)";
        let missing: Vec<(String,)> = sqlx::query_as(sql).bind(&destination).fetch_all(self.database.pool()).await?;
        let missing: BTreeSet<String> = missing.into_iter().map(|(change,)| change).collect();
        let mut queued = 0;
        for change in &missing {
            let Some(report) = self.change_report(change).await? else { continue };
            if report.change.triage != Triage::New || !wanted(&report) {
                continue;
            }
            let sql = "INSERT INTO alerts (alert, change, destination, state, attempts, queued_unix_ns, next_unix_ns, message) \
                       VALUES ($1, $2, $3, 'waiting', 0, $4, $4, '') ON CONFLICT DO NOTHING";
            let mut writing = self.database.write().await?;
            let query = sqlx::query(sql).bind(name(change, &destination)).bind(change).bind(&destination);
            queued += query.bind(now_unix_ns).execute(&mut *writing.transaction).await?.rows_affected();
            writing.commit().await?;
        }
        Ok(queued)
    }

    /// Sends a message again that was given up, at once and with its parts, and records who asked for it. `false`: there is no such message, or
    /// it was not given up.
    ///
    /// # Errors
    /// Errors of the database.
    pub async fn retry_alert(&self, alert: &str, who: &str, now_unix_ns: i64) -> Result<bool, StoreError> {
        let sql = "UPDATE alerts SET state = 'waiting', attempts = 0, next_unix_ns = $2 WHERE (alert = $1 OR part_of = $1) AND state = 'dead'";
        let mut writing = self.database.write().await?;
        let query = sqlx::query(sql).bind(alert).bind(now_unix_ns);
        let again = query.execute(&mut *writing.transaction).await?.rows_affected() > 0;
        if again {
            let (who, what, detail) = (who.to_owned(), "alert".to_owned(), "send again".to_owned());
            let action = Action { at_unix_ns: now_unix_ns, who, what, subject: alert.to_owned(), detail };
            actions::write(&mut writing, &action).await?;
        }
        writing.commit().await?;
        Ok(again)
    }

    /// A message by its name; `None` if there is none.
    ///
    /// # Errors
    /// Errors of the database.
    pub async fn alert(&self, alert: &str) -> Result<Option<Alert>, StoreError> {
        let sql = "SELECT *, alert AS digest FROM alerts WHERE alert = $1";
        let row = sqlx::query(sql).bind(alert).fetch_optional(self.database.pool()).await?;
        row.as_ref().map(Alert::of).transpose()
    }
}

/// The same for everyone who queues it.
fn name(change: &str, destination: &str) -> String {
    hex_of(&[change, destination])[..32].to_owned()
}
