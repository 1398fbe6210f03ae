//! The dictionary of series: one figure of one load and method on one board and kernel line.

use crate::Store;
use crate::error::StoreError;
use crate::row::get;
use serde::{Deserialize, Serialize};
use sqlx::any::AnyRow;

/// A series.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SeriesRow {
    pub series: String,
    pub scenario: String,
    pub board: String,
    pub kernel_line: String,
    pub load: String,
    pub method: String,
    /// Such as `p99.9`, `max`, `missed periods`, `load messaging`.
    pub figure: String,
}

impl Store {
    /// Every series, or those of a board; at most 10 000.
    ///
    /// # Errors
    /// Errors of the database.
    pub async fn series(&self, board: Option<&str>) -> Result<Vec<SeriesRow>, StoreError> {
        let sql = "SELECT f.series, f.scenario, s.board, f.kernel_line, s.load, s.method, f.figure FROM series f \
                   JOIN scenarios s ON s.scenario = f.scenario WHERE s.board = COALESCE($1, s.board) \
                   ORDER BY s.board, s.load, s.method, f.kernel_line, f.figure, f.series LIMIT 10000";
        let rows = sqlx::query(sql).bind(board).fetch_all(self.database.pool()).await?;
        let series = |row: &AnyRow| {
            Ok(SeriesRow {
                series: get(row, "series")?,
                scenario: get(row, "scenario")?,
                board: get(row, "board")?,
                kernel_line: get(row, "kernel_line")?,
                load: get(row, "load")?,
                method: get(row, "method")?,
                figure: get(row, "figure")?,
            })
        };
        rows.iter().map(series).collect()
    }
}
