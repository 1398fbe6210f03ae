//! New software for the boards of a plan, before its steps: each board gets it once per round.

use super::Round;
use crate::exit::{UsageError, in_words};
use crate::measuring::machine::{is_board, open_with};
use crate::plans::checked::CheckedPlan;
use archive::directory::replace_inside;
use machines::board::AccessOptions;
use std::collections::{BTreeMap, BTreeSet};

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

fn boards(plan: &CheckedPlan) -> BTreeSet<&str> {
    plan.steps.iter().map(|step| step.step.target.as_str()).filter(|name| is_board(name)).collect()
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
        let boards: Vec<String> = boards(&self.plan).into_iter().map(str::to_owned).collect();
        for board in boards {
            if self.file.deployed.contains(&board) || self.measuring.stopped() {
                continue;
            }
            self.measuring.report(&format!("new software for {board}: {image}"));
            match self.deploy_on(&board, &image) {
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

    fn deploy_on(&self, board: &str, image: &str) -> anyhow::Result<()> {
        let access = AccessOptions { deploy: Some(image.to_owned()), ..self.access.clone() };
        let mut target = open_with(board, &self.measuring.meter, &self.measuring.signals, access)?;
        let prepared = target.prepare();
        replace_inside(&self.directory, format!("deploy-{board}.log"), &target.console())?;
        prepared?;
        Ok(target.close()?)
    }
}
