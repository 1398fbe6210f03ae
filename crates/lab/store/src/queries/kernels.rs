//! The newest run of each load on each kernel line: boards beside kernels.

use crate::Store;
use crate::error::StoreError;
use crate::row::{get, worded};
use crate::standing::Standing;
use sqlx::any::AnyRow;

const ROWS_MAX: i64 = 50_000;

/// The newest run of a load on a kernel that shows a state; the newest valid one if none does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OnKernel {
    pub board: String,
    pub load: String,
    pub scenario: String,
    pub kernel: String,
    pub kernel_line: String,
    pub standing: Standing,
    pub latency_max_ns: Option<i64>,
    pub worst_cause: Option<String>,
    pub started_unix_ns: i64,
}

impl Store {
    /// The run of each load on each kernel that shows its state, oldest first. An undecided run shows it only where every run
    /// is undecided, as for a load.
    ///
    /// # Errors
    /// Errors of the database.
    pub async fn on_kernels(&self) -> Result<Vec<OnKernel>, StoreError> {
        let sql = "SELECT s.board, s.load, r.scenario, r.kernel, r.kernel_line, r.standing, r.digest, \
                   r.latency_max_ns, r.worst_cause, r.started_unix_ns FROM coverage c \
                   JOIN scenarios s ON s.scenario = c.scenario \
                   JOIN runs r ON r.digest = COALESCE((SELECT n.digest FROM runs n WHERE n.scenario = c.scenario \
                   AND n.kernel = c.kernel AND n.standing <> 'undecided' ORDER BY n.started_unix_ns DESC, n.digest DESC LIMIT 1), \
                   (SELECT v.digest FROM runs v WHERE v.scenario = c.scenario AND v.kernel = c.kernel AND v.valid = 1 \
                   ORDER BY v.started_unix_ns DESC, v.digest DESC LIMIT 1)) \
                   ORDER BY r.started_unix_ns, r.digest LIMIT $1";
        let rows = sqlx::query(sql).bind(ROWS_MAX).fetch_all(self.database.pool()).await?;
        rows.iter().map(on_kernel).collect()
    }
}

fn on_kernel(row: &AnyRow) -> Result<OnKernel, StoreError> {
    Ok(OnKernel {
        board: get(row, "board")?,
        load: get(row, "load")?,
        scenario: get(row, "scenario")?,
        kernel: get(row, "kernel")?,
        kernel_line: get(row, "kernel_line")?,
        standing: worded(row, "standing")?,
        latency_max_ns: get(row, "latency_max_ns")?,
        worst_cause: get(row, "worst_cause")?,
        started_unix_ns: get(row, "started_unix_ns")?,
    })
}
