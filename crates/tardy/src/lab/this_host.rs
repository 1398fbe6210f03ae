//! Archives of this host, for a server.

use crate::archives::all_below;
use crate::lab::experiments::experiments_below;
use crate::plans::checked::{CheckedPlan, Overrides, PlanHost};
use crate::plans::described;
use account::explain_one;
use archive::explanation::Explanation;
use archive::reader::Run;
use machines::KnownTarget;
use server::{Archives, ExperimentSeries, PlanError};
use std::path::{Path, PathBuf};

/// Archives of this host, explained by this program.
pub struct ThisHost;

impl Archives for ThisHost {
    fn below(&self, directory: &Path) -> Vec<PathBuf> {
        all_below(directory)
    }

    fn experiments(&self, directory: &Path) -> Vec<ExperimentSeries> {
        experiments_below(directory)
    }

    fn explain(&self, run: &Run, spike: u32) -> Option<Explanation> {
        // On this machine it would take time from the measurement, and an unknown target may be this machine.
        let target = KnownTarget::find(&run.manifest.as_ref()?.target).ok()?;
        target.is_board().then(|| explain_one(run, spike)).flatten()
    }

    fn check_plan(&self, name: &str, text: &str) -> Result<(), PlanError> {
        let Err(problems) = CheckedPlan::read(name, text, &Overrides::default(), PlanHost::Other) else {
            return Ok(());
        };
        let said: Vec<String> = problems.iter().map(|problem| described(Path::new(name), problem)).collect();
        Err(PlanError(said.join("; ")))
    }
}
