//! `tardy check --apply`: has a machine changed as findings ask for.

use archive::facts::Applied;
use machines::Target;
use readiness::{Readiness, writes};
use runner::facts::FactsError;
use std::path::Path;
use std::time::Duration;

/// What was changed.
pub struct Change {
    pub applied: Vec<Applied>,
    /// Whether the machine forgets it when it goes down, which it does at the end of the check.
    pub forgotten: bool,
}

/// Changes all that can be changed at run time, in one go.
///
/// # Errors
/// [`FactsError`]; what was changed by then is in the target's journal.
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
