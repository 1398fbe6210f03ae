//! Contents of a message about a change: the first run after it, its kernel and its cause, beside the last one before.

use super::Change;
use crate::Store;
use crate::error::StoreError;
use crate::queries::run::RunRow;
use serde::{Deserialize, Serialize};

/// A change with what leads on from it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChangeReport {
    pub change: Change,
    /// Board, load and way to measure.
    pub words: String,
    /// The first run after the change; its `worst_cause` is what delayed it most.
    pub first: RunRow,
    /// The last run before it; `None` if the index no longer has it.
    #[serde(default)]
    pub last_before: Option<RunRow>,
}

impl Store {
    /// A change with the runs beside it; `None` if there is no such change, or the index no longer has the run after it.
    ///
    /// # Errors
    /// Errors of the database.
    pub async fn change_report(&self, change: &str) -> Result<Option<ChangeReport>, StoreError> {
        let Some((change, _)) = self.change(change).await? else { return Ok(None) };
        let Some(first) = self.run(&change.after_digest).await? else { return Ok(None) };
        let last_before = self.run(&change.before_digest).await?.map(|run| run.run);
        Ok(Some(ChangeReport { words: first.words, first: first.run, last_before, change }))
    }
}
