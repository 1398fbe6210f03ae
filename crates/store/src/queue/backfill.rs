//! What lies between the last good and the first bad kernel of a scenario.

use crate::Store;
use crate::error::StoreError;
use crate::queries::fleet::KernelRun;
use serde::{Deserialize, Serialize};

/// The kernels around a change for the worse.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Suspects {
    pub board: String,
    pub last_good: KernelRun,
    pub first_bad: KernelRun,
    /// Of the candidates, those after the good and before the bad one, in their order.
    pub kernels: Vec<String>,
}

impl Store {
    /// The candidates, ordered from old to new, that lie between the last good and the first bad kernel of a scenario.
    /// `None` if it is not bad, or was never good. A good or bad kernel that is no candidate bounds nothing.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn suspects(&self, scenario: &str, candidates: &[String]) -> Result<Option<Suspects>, StoreError> {
        let fleet = self.fleet().await?;
        let Some(row) = fleet.rows.into_iter().find(|row| row.scenario == scenario) else { return Ok(None) };
        let Some((last_good, first_bad)) = row.state.last_good.zip(row.state.first_bad) else { return Ok(None) };
        let at = |kernel: &str| candidates.iter().position(|candidate| candidate == kernel);
        let from = at(&last_good.kernel).map_or(0, |at| at + 1);
        let until = at(&first_bad.kernel).unwrap_or(candidates.len());
        let kernels = candidates.get(from..until.max(from)).unwrap_or_default().to_vec();
        Ok(Some(Suspects { board: row.newest.board, last_good, first_bad, kernels }))
    }
}
