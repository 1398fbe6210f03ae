//! New software for the boards of a plan, before its steps: each board gets it once per round.

use super::Round;
use crate::exit::{UsageError, in_words};
use crate::plans::checked::{CheckedPlan, StepTarget};
use archive::directory::replace_inside;
use machines::KnownTarget;
use machines::board::AccessOptions;
use std::collections::BTreeMap;

/// Checks that there is a board to deploy to.
///
/// # Errors
/// A [`UsageError`] if there is none.
pub fn check(deploy: Option<&str>, plan: &CheckedPlan) -> Result<(), UsageError> {
    if deploy.is_some() && boards(plan).is_empty() {
        return Err(UsageError(
            "--deploy is for boards, and the plan names none; --target NAME takes one instead".into(),
        ));
    }
    Ok(())
}

/// The boards under test by name.
fn boards(plan: &CheckedPlan) -> BTreeMap<String, KnownTarget> {
    let known = plan.steps.iter().filter_map(|step| match &step.target {
        StepTarget::Known(target) if target.is_board() => Some((target.name().to_owned(), target.clone())),
        StepTarget::Known(_) | StepTarget::Missing(_) | StepTarget::OfAnotherHost => None,
    });
    known.collect()
}

impl Round<'_> {
    /// Deploys the software under test to the boards. Returns, by board name, why a board does not have it. The output
    /// of the lab's commands goes to `deploy-<board>.log` in the directory of the round.
    ///
    /// # Errors
    /// If the files of the round cannot be written.
    pub(super) fn deploy(&mut self) -> anyhow::Result<BTreeMap<String, String>> {
        let mut left_out = BTreeMap::new();
        let Some(image) = self.file.deploy.clone() else { return Ok(left_out) };
        for (board, target) in boards(&self.plan) {
            if self.file.deployed.contains(&board) || self.measuring.stopped() {
                continue;
            }
            self.measuring.report(&format!("new software for {board}: {image}"));
            match self.deploy_on(&target, &image) {
                Ok(()) => {
                    self.file.deployed.insert(board);
                    self.file.save(&self.directory)?;
                }
                Err(error) => {
                    self.measuring.report(&in_words(&error));
                    left_out.insert(board, in_words(&error));
                }
            }
        }
        Ok(left_out)
    }

    fn deploy_on(&self, board: &KnownTarget, image: &str) -> anyhow::Result<()> {
        let access = AccessOptions { deploy: Some(image.to_owned()), ..self.access.clone() };
        let stop = self.measuring.signals.requests().clone();
        let mut target = board.open(&self.measuring.meter, access, stop)?;
        let prepared = target.prepare();
        replace_inside(&self.directory, format!("deploy-{}.log", board.name()), &target.console())?;
        prepared?;
        Ok(target.close()?)
    }
}
