//! A step whose stimuli another machine gives.

use super::Round;
use crate::measuring::roles::{self, RoleRun, StimulusMachine};
use crate::plans::checked::{CheckedRole, CheckedStep};
use crate::terminal::progress::{Progress, View};
use archive::reader::Run;
use machines::Target;
use std::path::Path;

impl Round<'_> {
    /// Measures on both machines, and opens the archive of the target; the other one is inside.
    ///
    /// # Errors
    /// If an archive was not written, or a machine failed before it measured.
    pub(super) fn run_roles(
        &self,
        target: &mut dyn Target,
        (step, stimulus): (&CheckedStep, &CheckedRole),
        directory: &Path,
    ) -> anyhow::Result<Run> {
        let request = self.measuring.request(step.settings.clone(), step.silence, directory);
        let other = roles::stimulus_request(&request, stimulus.settings.clone());
        let mut progress = Progress::new(View::unless(self.measuring.quiet), &other.settings);
        let answering = RoleRun { request, planned: Some(&step.planned) };
        let stimulating = RoleRun { request: other, planned: Some(&stimulus.planned) };
        let (meter, signals) = (self.measuring.meter.as_path(), &self.measuring.signals);
        let known = stimulus.target.known()?;
        let machine = StimulusMachine { known, meter, signals, access: self.access.clone() };
        let ended = roles::run(target, &answering, &machine, &stimulating, &mut |event| progress.event(&event));
        progress.clear();
        let (outcome, _) = ended.measured()?;
        Ok(Run::open(&outcome.directory)?)
    }
}
