//! Queues the plans of triggers that are due: once for each instant, however many servers and workers look.

use super::triggers::{Trigger, trigger_columns};
use super::{insert, is_waiting};
use crate::Store;
use crate::error::StoreError;

impl Store {
    /// Queues what is due and returns the names of the new jobs. Instants that passed while nothing looked count as one, and a
    /// board on which the plan still waits gets no second job.
    ///
    /// # Errors
    /// Errors of the database.
    pub async fn queue_due(&self, now_unix_ns: i64) -> Result<Vec<String>, StoreError> {
        let sql = concat!("SELECT ", trigger_columns!(), " FROM triggers WHERE next_unix_ns <= $1 ORDER BY name");
        let rows = sqlx::query(sql).bind(now_unix_ns).fetch_all(self.database.pool()).await?;
        let mut jobs = Vec::new();
        for row in &rows {
            let trigger = Trigger::of(row)?;
            let Some((every_ns, due)) = trigger.every_ns.zip(trigger.next_unix_ns) else { continue };
            let mut writing = self.database.write().await?;
            let sql = "UPDATE triggers SET next_unix_ns = $3 WHERE name = $1 AND next_unix_ns = $2";
            let query = sqlx::query(sql).bind(&trigger.name).bind(due).bind(next(due, every_ns, now_unix_ns));
            if query.execute(&mut *writing.transaction).await?.rows_affected() == 0 {
                continue;
            }
            for board in &trigger.boards {
                let request = trigger.request(board, None, &format!("schedule {}", trigger.name));
                if !is_waiting(&mut writing, &request).await? {
                    jobs.push(insert(&mut writing, &request, now_unix_ns).await?);
                }
            }
            writing.commit().await?;
        }
        Ok(jobs)
    }
}

/// The first instant of the schedule after `now`.
fn next(due_unix_ns: i64, every_ns: i64, now_unix_ns: i64) -> i64 {
    let every = every_ns.max(1);
    let passed = now_unix_ns.saturating_sub(due_unix_ns).max(0) / every;
    due_unix_ns.saturating_add((passed + 1).saturating_mul(every))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schedule_keeps_its_phase_and_skips_what_was_missed() {
        assert_eq!(next(100, 10, 100), 110);
        assert_eq!(next(100, 10, 137), 140);
        assert_eq!(next(100, 10, 140), 150);
        assert_eq!(next(i64::MAX - 1, 10, i64::MAX), i64::MAX);
    }
}
