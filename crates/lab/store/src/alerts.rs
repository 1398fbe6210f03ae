//! Messages about changes that wait to be sent: a row for each change and destination, however many look and how often; changes of one run
//! are sent together. The index has
//! names of destinations, and nothing of their addresses and secrets.
//!
//! Instants come from the caller, as in [`crate::queue`].

mod attempt;
mod outbox;

pub use attempt::{AlertClaim, Attempt, Due, Receiver};

use crate::Store;
use crate::error::StoreError;
use crate::row::{count, get, worded};
use serde::{Deserialize, Serialize};
use sqlx::any::AnyRow;

/// Attempts after which a message is given up: with the pauses between them, after about a day and a half.
pub const ATTEMPTS_MAX: u64 = 10;
/// Messages that a list has at most.
pub const ALERTS_MAX: i64 = 1000;

/// Fate of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum AlertState {
    /// It is sent when it is due.
    Waiting,
    /// An attempt is under way.
    Sending,
    Sent,
    /// Every attempt failed; nothing sends it until a user asks for it.
    Dead,
}

/// A message about a change, to one destination.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Alert {
    /// Its name; every attempt sends the same one, so that a receiver recognises a repetition.
    pub alert: String,
    pub change: String,
    pub destination: String,
    pub state: AlertState,
    pub attempts: u64,
    pub queued_unix_ns: i64,
    /// When it is sent next, if it waits.
    pub next_unix_ns: i64,
    pub sent_unix_ns: Option<i64>,
    /// The message in which it is sent with other changes of the same run; `None` for one of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part_of: Option<String>,
    /// Where it is, or why the last attempt failed.
    pub message: String,
}

impl Alert {
    fn of(row: &AnyRow) -> Result<Self, StoreError> {
        Ok(Self {
            alert: get(row, "alert")?,
            change: get(row, "change")?,
            destination: get(row, "destination")?,
            state: worded(row, "state")?,
            attempts: count(row, "attempts")?,
            queued_unix_ns: get(row, "queued_unix_ns")?,
            next_unix_ns: get(row, "next_unix_ns")?,
            sent_unix_ns: get(row, "sent_unix_ns")?,
            part_of: get(row, "part_of")?,
            message: get(row, "message")?,
        })
    }
}

impl Store {
    /// The newest messages, newest first; at most [`ALERTS_MAX`].
    ///
    /// # Errors
    /// Errors of the database.
    pub async fn alerts(&self, count: i64) -> Result<Vec<Alert>, StoreError> {
        let sql = "SELECT *, alert AS digest FROM alerts ORDER BY queued_unix_ns DESC, alert LIMIT $1";
        let query = sqlx::query(sql).bind(count.clamp(0, ALERTS_MAX));
        query.fetch_all(self.database.pool()).await?.iter().map(Alert::of).collect()
    }
}
