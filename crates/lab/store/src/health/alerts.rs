//! Messages that were given up, and ones that nothing sends.

use super::Finding;
use crate::Store;
use crate::error::StoreError;
use words::figures::counted;

/// A message that is due for longer has no process that sends it.
const LATE_NS: i64 = 3_600_000_000_000;

impl Store {
    pub(super) async fn alert_health(&self, now_unix_ns: i64, index: &str) -> Result<Vec<Finding>, StoreError> {
        let (pool, mut findings) = (self.database.pool(), Vec::new());
        let sql =
            "SELECT destination, COUNT(*) FROM alerts WHERE state = 'dead' GROUP BY destination ORDER BY destination";
        let dead: Vec<(String, i64)> = sqlx::query_as(sql).fetch_all(pool).await?;
        for (destination, count) in dead {
            let messages = counted(count.unsigned_abs(), "message");
            let detail = format!("{messages} to {destination} given up after every attempt failed");
            let fix = format!("`tardy lab store alerts{index}` has the reasons; --retry ALERT sends one again");
            findings.push(Finding::new("alerts-dead", detail, fix));
        }
        let sql = "SELECT COUNT(*) FROM alerts WHERE state = 'waiting' AND next_unix_ns < $1";
        let since = now_unix_ns.saturating_sub(LATE_NS);
        let (late,): (i64,) = sqlx::query_as(sql).bind(since).fetch_one(pool).await?;
        if late > 0 {
            let detail = format!("{} due for over an hour", counted(late.unsigned_abs(), "message"));
            let fix = format!(
                "start `tardy lab serve --alerts FILE{index}`, or `tardy lab store changes --alerts FILE{index}` from a timer"
            );
            findings.push(Finding::new("alerts-late", detail, fix));
        }
        Ok(findings)
    }
}
