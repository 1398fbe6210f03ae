//! The input of an export: archives, and rounds of plans as a whole.

use crate::archives::{find, open};
use crate::plans::round::{ArchivedStep, archived, is_round};
use archive::reader::Run;
use std::path::{Path, PathBuf};

/// What one RUN refers to.
pub enum Source {
    Run(Box<Run>),
    Round { directory: PathBuf, steps: Vec<ArchivedStep> },
}

impl Source {
    /// # Errors
    /// If it refers to neither an archive nor a round.
    pub fn open(name: &Path) -> anyhow::Result<Self> {
        let directory = find(name)?;
        match is_round(&directory) {
            true => Ok(Self::Round { steps: archived(&directory)?, directory }),
            false => Ok(Self::Run(Box::new(open(&directory)?))),
        }
    }

    /// Its directory, the default location of the document.
    pub fn directory(&self) -> &Path {
        match self {
            Self::Run(run) => &run.directory,
            Self::Round { directory, .. } => directory,
        }
    }

    pub fn runs(&self) -> Box<dyn Iterator<Item = &Run> + '_> {
        match self {
            Self::Run(run) => Box::new(std::iter::once(run.as_ref())),
            Self::Round { steps, .. } => Box::new(steps.iter().map(|step| &step.run)),
        }
    }
}
