//! Makes an index large without as many archives: copies of its rows.

use sqlx::AnyPool;

/// Copies the rows, each copy 50 days earlier than the one before, until there are about `size` of them.
pub async fn multiply(pool: &AnyPool, size: usize) {
    let (have,): (i64,) = sqlx::query_as("SELECT COUNT(*) FROM runs").fetch_one(pool).await.unwrap();
    let columns = "id, scenario, kernel, kernel_line, preemption, environment, settings, measured_ns, state, valid, degraded, \
                   emulated, virtual_time, verdict, standing, samples, latency_max_ns, limit_ns, over_limit, missed, spikes, \
                   worst_cause, histogram, outline, figures, summary, bytes, ingested_unix_ns";
    for copy in 1..(size as i64 / have) {
        let key = format!("-{size}-{copy}");
        let sql = format!(
            "INSERT INTO runs (digest, location, started_unix_ns, {columns}) SELECT digest || '{key}', location || '{key}', \
             started_unix_ns - {}, {columns} FROM runs WHERE digest NOT LIKE '%-{size}-%'",
            copy * 50 * crate::DAY_NS
        );
        sqlx::query(sqlx::AssertSqlSafe(sql)).execute(pool).await.unwrap();
        let sql = format!(
            "INSERT INTO causes (digest, culprit, spikes, latency_max_ns) SELECT digest || '{key}', culprit, spikes, \
             latency_max_ns FROM causes WHERE digest NOT LIKE '%-{size}-%'"
        );
        sqlx::query(sqlx::AssertSqlSafe(sql)).execute(pool).await.unwrap();
    }
    sqlx::query("ANALYZE").execute(pool).await.unwrap();
}
