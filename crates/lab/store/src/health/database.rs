//! The database itself, and whether its sums agree with its rows.

use super::Finding;
use crate::Store;
use crate::database::{Engine, now_unix_ns};
use crate::error::StoreError;
use crate::summable::SUMMABLE_MAX;

/// The oldest PostgreSQL that is tested.
const POSTGRES_MIN: i64 = 150_000;
/// Leases last a minute by default.
const CLOCKS_APART_MAX_NS: i64 = 5_000_000_000;

/// Rows of `$left` that `$right` does not have, of sums by scenario and kernel.
macro_rules! without {
    ($left:expr, $right:expr) => {
        concat!("SELECT COUNT(*) FROM (", $left, " EXCEPT ", $right, ") AS missing")
    };
}
macro_rules! kept {
    () => {
        "SELECT scenario, kernel, runs, samples, latency_max_ns FROM coverage"
    };
}
macro_rules! counted {
    () => {
        "SELECT scenario, kernel, COUNT(*), CAST(SUM(CASE WHEN samples > $1 THEN $1 ELSE samples END) AS BIGINT), \
         MAX(latency_max_ns) FROM runs WHERE valid = 1 GROUP BY scenario, kernel"
    };
}

impl Store {
    pub(super) async fn database_health(
        &self,
        now_of_database_ns: i64,
        index: &str,
    ) -> Result<(String, Vec<Finding>), StoreError> {
        let pool = self.database.pool();
        let mut findings = Vec::new();
        if self.database.engine() == Engine::Sqlite {
            let (version,): (String,) = sqlx::query_as("SELECT sqlite_version()").fetch_one(pool).await?;
            let (checked,): (String,) = sqlx::query_as("PRAGMA quick_check(1)").fetch_one(pool).await?;
            if checked != "ok" {
                let fix = format!(
                    "move index.sqlite away, then `tardy lab store rebuild{index}`; queued plans and triage are in a backup alone"
                );
                findings.push(Finding::new("index-damaged", format!("SQLite reports: {checked}"), fix));
            }
            return Ok((format!("SQLite {version}"), findings));
        }
        let (number,): (String,) =
            sqlx::query_as("SELECT current_setting('server_version_num')").fetch_one(pool).await?;
        let (version,): (String,) = sqlx::query_as("SELECT current_setting('server_version')").fetch_one(pool).await?;
        if number.parse().unwrap_or(0) < POSTGRES_MIN {
            let fix = "upgrade the server: 15 is the oldest version that is tested";
            findings.push(Finding::new("postgres-old", format!("the server is PostgreSQL {version}"), fix));
        }
        let apart_ns = now_unix_ns().saturating_sub(now_of_database_ns);
        if apart_ns.saturating_abs() > CLOCKS_APART_MAX_NS {
            let detail =
                format!("the clocks of this host and of the database differ by {} s", apart_ns / 1_000_000_000);
            let fix = "synchronize both (chrony): runs are dated by one and leases by the other";
            findings.push(Finding::new("clocks-apart", detail, fix));
        }
        Ok((format!("PostgreSQL {version}"), findings))
    }

    /// Sums that pages show, compared with the runs that they are over.
    pub(super) async fn row_health(&self, index: &str) -> Result<Vec<Finding>, StoreError> {
        let mut wrong = 0;
        for sql in [without!(kept!(), counted!()), without!(counted!(), kept!())] {
            let (rows,): (i64,) = sqlx::query_as(sql).bind(SUMMABLE_MAX).fetch_one(self.database.pool()).await?;
            wrong = wrong.max(rows);
        }
        if wrong == 0 {
            return Ok(Vec::new());
        }
        let detail = format!("the sums of {wrong} boards, loads and kernels differ from their runs");
        Ok(vec![Finding::new(
            "sums-wrong",
            detail,
            format!("`tardy lab store rebuild{index}`, and report this: it is a defect of tardy"),
        )])
    }
}
