//! Kernels between the last good and the first bad kernel of a scenario, or around a change.

use super::plan_kernel::KERNEL;
use super::{JobRequest, Trigger};
use crate::Store;
use crate::error::StoreError;
use crate::queries::board_state::KernelRun;
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

impl Suspects {
    fn among(candidates: &[String], board: String, last_good: KernelRun, first_bad: KernelRun) -> Self {
        let at = |kernel: &str| candidates.iter().position(|candidate| candidate == kernel);
        let from = at(&last_good.kernel).map_or(0, |at| at + 1);
        let until = at(&first_bad.kernel).unwrap_or(candidates.len());
        let kernels = candidates.get(from..until.max(from)).unwrap_or_default().to_vec();
        Self { board, last_good, first_bad, kernels }
    }

    /// The plan of a trigger for each of its kernels.
    pub fn requests(&self, trigger: &Trigger) -> Vec<JobRequest> {
        let because = self.because();
        self.kernels.iter().map(|kernel| trigger.request(&self.board, Some(kernel), &because)).collect()
    }

    /// Why their jobs are queued.
    pub fn because(&self) -> String {
        format!("between {} and {}", self.last_good.kernel, self.first_bad.kernel)
    }
}

impl Trigger {
    /// Whether its plan can be run for any kernel on this board.
    pub fn can_backfill(&self, board: &str) -> bool {
        self.plan.contains(KERNEL) && self.boards.iter().any(|of| of == board)
    }
}

impl Store {
    /// The candidates, ordered from old to new, that lie between the last good and the first bad kernel of a scenario.
    /// `None` if it is not bad, or was never good. A good or bad kernel that is no candidate bounds nothing.
    ///
    /// # Errors
    /// Errors of the database.
    pub async fn suspects(&self, scenario: &str, candidates: &[String]) -> Result<Option<Suspects>, StoreError> {
        let fleet = self.fleet().await?;
        let Some(row) = fleet.rows.into_iter().find(|row| row.scenario == scenario) else { return Ok(None) };
        let Some((last_good, first_bad)) = row.state.last_good.zip(row.state.first_bad) else { return Ok(None) };
        Ok(Some(Suspects::among(candidates, row.newest.board, last_good, first_bad)))
    }

    /// The candidates between the kernel of the last run before a change and that of the first one after it; none if both runs
    /// had the same kernel. `None`: there is no such change, or a run of it is gone.
    ///
    /// # Errors
    /// Errors of the database.
    pub async fn suspects_of_change(
        &self,
        change: &str,
        candidates: &[String],
    ) -> Result<Option<Suspects>, StoreError> {
        let Some((change, board)) = self.change(change).await? else { return Ok(None) };
        let (before, after) = (self.run(&change.before_digest).await?, self.run(change.reached()).await?);
        let Some((before, after)) = before.zip(after) else { return Ok(None) };
        let (before, after) = (KernelRun::from(&before.run), KernelRun::from(&after.run));
        let candidates = if before.kernel == after.kernel { &[] } else { candidates };
        Ok(Some(Suspects::among(candidates, board, before, after)))
    }
}
