//! `tardy check --apply`: changes a machine as the findings suggest.

use archive::facts::Applied;
use machines::Target;
use readiness::{Readiness, writes};
use runner::facts::FactsError;
use std::path::Path;
use std::time::Duration;

/// Changed settings.
pub struct Change {
    pub applied: Vec<Applied>,
    /// Whether the changes are lost when the machine goes down, which it does at the end of the check.
    pub forgotten: bool,
}

/// Makes all changes that can be made at run time, in one go.
///
/// # Errors
/// [`FactsError`]; the changes made by then are in the target's journal.
pub fn apply(
    target: &mut dyn Target,
    meter: &Path,
    readiness: &Readiness,
    notices: bool,
    limit: Duration,
) -> Result<Change, FactsError> {
    let changes = writes(readiness.to_fix(notices));
    let applied = match changes.is_empty() {
        true => Vec::new(),
        false => runner::facts::apply(target, meter, &changes, limit)?,
    };
    Ok(Change { applied, forgotten: target.forgets() })
}
