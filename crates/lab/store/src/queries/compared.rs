//! The runs of a scenario as `judge` compares them in a history.

use crate::Store;
use crate::error::StoreError;
use crate::queries::run::whole_summary;
use crate::record::StoredFigures;
use crate::row::{get, json};
use judge::history::{HistoryRun, RUNS_MAX};
use sqlx::any::AnyRow;

impl Store {
    /// The valid runs of a scenario that started in a time, oldest first: the newest of them, as many as a history analyses.
    /// Their archive is named by its address.
    ///
    /// # Errors
    /// Errors of the database.
    pub async fn compared_runs(
        &self,
        key: &str,
        from_unix_ns: i64,
        until_unix_ns: i64,
    ) -> Result<Vec<HistoryRun>, StoreError> {
        let sql = "SELECT r.digest, r.figures, r.summary, e.json AS environment_json, g.json AS settings_json FROM runs r \
                   JOIN documents e ON e.document = r.environment JOIN documents g ON g.document = r.settings \
                   WHERE r.scenario = $1 AND r.valid = 1 AND r.started_unix_ns >= $2 AND r.started_unix_ns < $3 \
                   ORDER BY r.started_unix_ns DESC, r.digest DESC LIMIT $4";
        let query = sqlx::query(sql).bind(key).bind(from_unix_ns).bind(until_unix_ns).bind(RUNS_MAX as i64);
        let rows = query.fetch_all(self.database.pool()).await?;
        let mut runs: Vec<HistoryRun> = rows.iter().map(compared).collect::<Result<_, StoreError>>()?;
        runs.reverse();
        runs.retain(|run| !run.values.is_empty());
        Ok(runs)
    }
}

fn compared(row: &AnyRow) -> Result<HistoryRun, StoreError> {
    let figures: StoredFigures = json(row, "figures")?;
    let archive = get(row, "digest")?;
    Ok(HistoryRun { archive, summary: whole_summary(row)?, values: figures.compared, samples: figures.samples })
}
