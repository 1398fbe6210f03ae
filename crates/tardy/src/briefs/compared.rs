//! Two runs side by side.

use crate::exit::UsageError;
use account::brief::compared::BriefCompared;
use account::{Account, ExplanationSource, compared};
use archive::reader::Run;

/// Compares two runs that count time.
///
/// # Errors
/// If one of them is in virtual time.
pub fn compared_runs(runs: [Run; 2]) -> Result<BriefCompared, UsageError> {
    let is_virtual = |run: &Run| run.manifest.as_ref().is_some_and(|manifest| manifest.virtual_time);
    if runs.iter().any(is_virtual) {
        let text = "runs in virtual time compare seed by seed, which has no short answer; use `tardy compare --json`";
        return Err(UsageError(text.into()));
    }
    let [a, b] = runs.map(|run| Account::of(run, ExplanationSource::Traces));
    Ok(BriefCompared::of(&compared(&a, &b)))
}
