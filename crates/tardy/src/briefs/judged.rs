//! The verdicts on the limits of a run.

use crate::exit::UsageError;
use crate::options::limits::LimitArguments;
use account::{Account, ExplanationSource, JudgedRun};
use archive::reader::Run;

/// Judges a run, and extrapolates it where a horizon is given.
///
/// # Errors
/// If a limit is invalid.
pub fn judged(run: Run, arguments: &LimitArguments, horizon_ns: Option<u64>) -> Result<JudgedRun, UsageError> {
    let limits = arguments.of(&run)?;
    let (confidence, accepted) = (arguments.confidence_of(&run), arguments.accepted_of(&run));
    let account = Account::of(run, ExplanationSource::Stored);
    let mut judged = account.judged(&limits, confidence, &accepted);
    judged.extrapolations = horizon_ns.map(|ns| account.extrapolate(ns, confidence)).unwrap_or_default();
    Ok(judged)
}
