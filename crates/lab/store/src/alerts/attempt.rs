//! Attempts to send a message. A lease is a name that only its attempt knows; one that ran out is that of a process that died.

use super::{ATTEMPTS_MAX, Alert, AlertState};
use crate::Store;
use crate::changes::{Change, ChangeReport, Triage};
use crate::database::Writing;
use crate::error::StoreError;
use crate::label::label;
use crate::record::word;
use crate::row::get;
use crate::unique_name::unique_name;
use std::time::Duration;

/// Pause after the first failed attempt; each further one is four times as long, up to the longest.
const PAUSE: Duration = Duration::from_secs(60);
const PAUSE_MAX: Duration = Duration::from_secs(6 * 3600);
/// A receiver may ask for a longer pause, but not for ever.
const ASKED_MAX: Duration = Duration::from_secs(24 * 3600);

/// Which messages may be tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Due {
    /// Alerts whose pause is over.
    InTime,
    /// Alerts that were not tried at this instant or later: a user asked for them now.
    NotTriedSince(i64),
}

/// A destination to send to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Receiver<'a> {
    pub destination: &'a str,
    /// Changes of one run come together in one message.
    pub takes_several: bool,
}

/// A message to send now. Until the lease ends no other process sends it.
#[derive(Debug, Clone, PartialEq)]
pub struct AlertClaim {
    pub alert: Alert,
    pub report: ChangeReport,
    /// Further changes that the same run showed first, of other figures.
    pub also: Vec<Change>,
    /// When the first attempt began: a message of an earlier attempt whose end is unknown is not older.
    pub first_attempt_unix_ns: i64,
    lease: String,
}

/// How an attempt ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Attempt {
    /// The receiver has it; in words where it is.
    Sent(String),
    /// It may be tried again, after the pause that the receiver asked for if that is longer.
    Failed { because: String, pause: Option<Duration> },
}

impl Store {
    /// Claims the message to one of these destinations that waits longest. One whose change is no longer new is dropped.
    ///
    /// # Errors
    /// Errors of the database.
    pub async fn claim_alert(
        &self,
        receivers: &[Receiver<'_>],
        due: Due,
        lease: Duration,
        now_unix_ns: i64,
    ) -> Result<Option<AlertClaim>, StoreError> {
        self.expire_alerts(now_unix_ns).await?;
        for receiver in receivers {
            while let Some(alert) = self.next_alert(&label(receiver.destination), due, now_unix_ns).await? {
                let report = self.change_report(&alert.change).await?;
                let Some(report) = report.filter(|report| report.change.triage == Triage::New) else {
                    self.drop_alert(&alert.alert).await?;
                    continue;
                };
                if let Some(claim) = self.claim_this(alert, report, receiver.takes_several, lease, now_unix_ns).await? {
                    return Ok(Some(claim));
                }
            }
        }
        Ok(None)
    }

    async fn next_alert(&self, destination: &str, due: Due, now_unix_ns: i64) -> Result<Option<Alert>, StoreError> {
        let (due_unix_ns, tried_unix_ns) = match due {
            Due::InTime => (now_unix_ns, i64::MAX),
            Due::NotTriedSince(tried) => (i64::MAX, tried),
        };
        // A part goes with its message as long as that is to be sent.
        let sql = "SELECT *, alert AS digest FROM alerts a WHERE destination = $1 AND state = 'waiting' AND next_unix_ns <= $2 \
                   AND COALESCE(last_attempt_unix_ns, $4) < $3 AND NOT EXISTS (SELECT 1 FROM alerts m WHERE m.alert = a.part_of \
                   AND m.state IN ('waiting', 'sending')) ORDER BY next_unix_ns, alert LIMIT 1";
        let query = sqlx::query(sql).bind(destination).bind(due_unix_ns).bind(tried_unix_ns).bind(i64::MIN);
        query.fetch_optional(self.database.pool()).await?.as_ref().map(Alert::of).transpose()
    }

    async fn drop_alert(&self, alert: &str) -> Result<(), StoreError> {
        let mut writing = self.database.write().await?;
        let query = sqlx::query("DELETE FROM alerts WHERE alert = $1 AND state = 'waiting'").bind(alert);
        query.execute(&mut *writing.transaction).await?;
        // What was to be sent with it waits for a message of its own.
        let query = sqlx::query("UPDATE alerts SET part_of = NULL, attempts = 0 WHERE part_of = $1").bind(alert);
        query.execute(&mut *writing.transaction).await?;
        writing.commit().await
    }

    /// `None`: another process was faster.
    async fn claim_this(
        &self,
        alert: Alert,
        report: ChangeReport,
        takes_several: bool,
        lease: Duration,
        now_unix_ns: i64,
    ) -> Result<Option<AlertClaim>, StoreError> {
        let (until, name) = (now_unix_ns.saturating_add(ns(lease)), unique_name());
        let sql = "UPDATE alerts SET state = 'sending', attempts = attempts + 1, lease = $2, lease_until_unix_ns = $3, \
                   last_attempt_unix_ns = $4, first_attempt_unix_ns = COALESCE(first_attempt_unix_ns, $4) \
                   WHERE alert = $1 AND state = 'waiting' AND attempts = $5";
        let mut writing = self.database.write().await?;
        // Two processes that begin with different changes of a run take turns.
        self.database.lock_scenario(&mut writing, &report.change.scenario).await?;
        let query = sqlx::query(sql).bind(&alert.alert).bind(&name).bind(until).bind(now_unix_ns);
        let query = query.bind(i64::try_from(alert.attempts).unwrap_or(i64::MAX));
        if query.execute(&mut *writing.transaction).await?.rows_affected() == 0 {
            return Ok(None);
        }
        let sql = "SELECT first_attempt_unix_ns, alert AS digest FROM alerts WHERE alert = $1";
        let row = sqlx::query(sql).bind(&alert.alert).fetch_one(&mut *writing.transaction).await?;
        let first_attempt_unix_ns = get(&row, "first_attempt_unix_ns")?;
        let alert = Alert { state: AlertState::Sending, attempts: alert.attempts + 1, ..alert };
        let mut claim = AlertClaim { alert, report, also: Vec::new(), first_attempt_unix_ns, lease: name };
        if takes_several {
            claim.also = join(&mut writing, &claim, until, now_unix_ns).await?;
        }
        writing.commit().await?;
        Ok(Some(claim))
    }

    /// Records how an attempt ended. `false`: its lease ran out before, and another attempt may be under way.
    ///
    /// # Errors
    /// Errors of the database; recording it again is safe.
    pub async fn end_alert(&self, claim: &AlertClaim, attempt: &Attempt, now_unix_ns: i64) -> Result<bool, StoreError> {
        let (state, message, next, sent) = match attempt {
            Attempt::Sent(place) => (AlertState::Sent, place, now_unix_ns, Some(now_unix_ns)),
            Attempt::Failed { because, pause } => {
                let is_last = claim.alert.attempts >= ATTEMPTS_MAX;
                let state = if is_last { AlertState::Dead } else { AlertState::Waiting };
                let asked = pause.unwrap_or_default().min(ASKED_MAX);
                let next = now_unix_ns.saturating_add(ns(pause_after(claim.alert.attempts).max(asked)));
                (state, because, next, None)
            }
        };
        let sql = "UPDATE alerts SET state = $3, message = $4, next_unix_ns = $5, sent_unix_ns = $6, lease = NULL, \
                   lease_until_unix_ns = NULL WHERE (alert = $1 OR part_of = $1) AND lease = $2";
        let mut writing = self.database.write().await?;
        self.lock_lease(&mut writing, &claim.lease).await?;
        let query = sqlx::query(sql).bind(&claim.alert.alert).bind(&claim.lease).bind(word(&state));
        let query = query.bind(label(message)).bind(next).bind(sent);
        let mine = query.execute(&mut *writing.transaction).await?.rows_affected() > 0;
        if mine && sent.is_some() {
            let sql = "UPDATE changes SET reported_unix_ns = COALESCE(reported_unix_ns, $2) WHERE change = $1";
            let also = claim.also.iter().map(|change| &change.change);
            for change in also.chain([&claim.alert.change]) {
                sqlx::query(sql).bind(change).bind(now_unix_ns).execute(&mut *writing.transaction).await?;
            }
        }
        writing.commit().await?;
        Ok(mine)
    }

    /// Lets messages be tried again whose lease ran out, or gives them up after their last attempt.
    async fn expire_alerts(&self, now_unix_ns: i64) -> Result<(), StoreError> {
        let sql = "SELECT DISTINCT lease FROM alerts WHERE state = 'sending' AND lease_until_unix_ns <= $1";
        let late: Vec<(String,)> = sqlx::query_as(sql).bind(now_unix_ns).fetch_all(self.database.pool()).await?;
        for (lease,) in late {
            let sql = "UPDATE alerts SET state = CASE WHEN attempts >= $2 THEN 'dead' ELSE 'waiting' END, lease = NULL, \
                       lease_until_unix_ns = NULL, next_unix_ns = $1, message = 'the process that sent it ended before it knew how' \
                       WHERE lease = $3 AND state = 'sending' AND lease_until_unix_ns <= $1";
            let mut writing = self.database.write().await?;
            self.lock_lease(&mut writing, &lease).await?;
            let query = sqlx::query(sql).bind(now_unix_ns).bind(ATTEMPTS_MAX as i64).bind(lease);
            query.execute(&mut *writing.transaction).await?;
            writing.commit().await?;
        }
        Ok(())
    }

    /// Holds the rows of a lease, in the same order in every transaction.
    async fn lock_lease(&self, writing: &mut Writing<'_>, lease: &str) -> Result<(), StoreError> {
        let sql = self.database.either(
            // The transaction has the whole database.
            "SELECT alert FROM alerts WHERE lease = $1",
            "SELECT alert FROM alerts WHERE lease = $1 ORDER BY alert FOR UPDATE",
        );
        sqlx::query(sql).bind(lease).execute(&mut *writing.transaction).await?;
        Ok(())
    }
}

/// Has the changes that the same run showed first sent in the same message: those that were part of it before, and those that were never
/// tried.
async fn join(
    writing: &mut Writing<'_>,
    claim: &AlertClaim,
    until_unix_ns: i64,
    now_unix_ns: i64,
) -> Result<Vec<Change>, StoreError> {
    let (alert, change) = (&claim.alert, &claim.report.change);
    let sql = "UPDATE alerts SET state = 'sending', attempts = $5, part_of = $1, lease = $2, lease_until_unix_ns = $3, \
               last_attempt_unix_ns = $4, first_attempt_unix_ns = COALESCE(first_attempt_unix_ns, $4) \
               WHERE destination = $6 AND state = 'waiting' AND (part_of = $1 OR part_of IS NULL AND attempts = 0) \
               AND change IN (SELECT change FROM changes WHERE scenario = $7 AND after_digest = $8 AND triage = 'new')";
    let query = sqlx::query(sql).bind(&alert.alert).bind(&claim.lease).bind(until_unix_ns).bind(now_unix_ns);
    let query = query.bind(i64::try_from(alert.attempts).unwrap_or(i64::MAX)).bind(&alert.destination);
    query.bind(&change.scenario).bind(&change.after_digest).execute(&mut *writing.transaction).await?;
    let sql = "SELECT c.*, c.change AS digest FROM changes c JOIN alerts a ON a.change = c.change \
               WHERE a.part_of = $1 AND a.lease = $2 ORDER BY c.figure, c.change";
    let rows = sqlx::query(sql).bind(&alert.alert).bind(&claim.lease).fetch_all(&mut *writing.transaction).await?;
    rows.iter().map(Change::of).collect()
}

fn pause_after(attempts: u64) -> Duration {
    let factor = 4u32.saturating_pow(u32::try_from(attempts.saturating_sub(1)).unwrap_or(u32::MAX));
    PAUSE.saturating_mul(factor).min(PAUSE_MAX)
}

fn ns(duration: Duration) -> i64 {
    i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_six_hours_and_end_after_a_day_and_a_half() {
        let minutes: Vec<u64> = (1..7).map(|attempts| pause_after(attempts).as_secs() / 60).collect();
        assert_eq!(minutes, [1, 4, 16, 64, 256, 360]);
        let all: Duration = (1..ATTEMPTS_MAX).map(pause_after).sum();
        assert!((28..37).contains(&(all.as_secs() / 3600)), "{all:?}");
        assert_eq!(pause_after(u64::MAX), PAUSE_MAX);
    }
}
