//! The input of an export: archives, and rounds of plans as a whole.

use crate::archives::{find, open};
use crate::plans::round::{archived, is_round};
use account::{Account, ExplanationSource};
use interchange::exports::ExportedRun;
use std::path::{Path, PathBuf};

/// The runs that one RUN of the command line refers to.
pub struct Source {
    /// The default location of the document.
    pub directory: PathBuf,
    pub runs: Vec<ExportedRun>,
}

impl Source {
    /// `number` distinguishes it from the others of the command line.
    ///
    /// # Errors
    /// If `name` refers to neither an archive nor a round.
    pub fn open(number: usize, name: &Path) -> anyhow::Result<Self> {
        let directory = find(name)?;
        if !is_round(&directory) {
            let account = Account::of(open(&directory)?, ExplanationSource::Traces);
            return Ok(Self { directory: account.run().directory.clone(), runs: vec![ExportedRun::alone(account)] });
        }
        let steps = archived(&directory)?.into_iter();
        Ok(Self { runs: steps.map(|step| ExportedRun::step(step.account, step.summary, number)).collect(), directory })
    }
}
