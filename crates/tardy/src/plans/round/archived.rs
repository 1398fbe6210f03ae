//! The steps of a round in its directory, for verbs that process a whole round.

use super::file::RoundFile;
use super::outcome::newest;
use super::step_state::StepState;
use crate::archives::run_id;
use crate::exit::UsageError;
use crate::plans::checked::PlanHost;
use crate::plans::problem::StepProblem;
use account::{Account, ExplanationSource};
use archive::problem::Remark;
use archive::reader::Run;
use archive::summary::RunSummary;
use std::path::Path;

/// A step with the archive of its last attempt.
#[derive(Debug)]
pub struct ArchivedStep {
    /// Its run contains the step of the plan; for a step without an archive, nothing else.
    pub account: Account,
    pub summary: RunSummary,
}

/// All steps of a round in order, including those that were never run. The summary of an unfinished step is invalid and
/// says why.
///
/// # Errors
/// A [`UsageError`] if the directory holds no round, or one that is not understood.
pub fn archived(directory: &Path) -> Result<Vec<ArchivedStep>, UsageError> {
    let (file, plan) = RoundFile::load(directory, PlanHost::Other)?;
    let began_unix_s = u64::try_from(file.started_unix_ns / 1_000_000_000).unwrap_or(0);
    let steps = plan.steps.iter().map(|step| {
        if let Some(mut run) = newest(step, directory).and_then(|path| Run::open(path).ok()) {
            // An archive whose first message is lost lacks the step of the plan.
            run.planned.get_or_insert_with(|| step.planned.clone());
            let account = Account::of(run, ExplanationSource::Traces);
            let mut summary = account.summary().clone();
            if StepState::of(&summary) == StepState::Stopped && summary.valid {
                (summary.valid, summary.invalid_because) = (false, vec![Remark::new(&StepProblem::Stopped)]);
            }
            return ArchivedStep { account, summary };
        }
        let planned = Some(step.planned.clone());
        let run = Run { directory: directory.join(step.step.directory(1)), planned, ..Run::default() };
        let account = Account::of(run, ExplanationSource::Traces);
        let summary = RunSummary {
            id: format!("{}-{}", run_id(began_unix_s, &file.plan), step.step.directory(1)),
            target: step.planned.target.clone(),
            invalid_because: vec![Remark::new(&StepProblem::NotRun)],
            ..account.summary().clone()
        };
        ArchivedStep { account, summary }
    });
    Ok(steps.collect())
}
