//! The input of an export: archives, and rounds of plans as a whole.

use crate::archives::{find, open};
use crate::plans::round::{ArchivedStep, archived, is_round};
use account::{Account, ExplanationSource};
use std::path::{Path, PathBuf};

/// What one RUN refers to.
pub enum Source {
    Run(Box<Account>),
    Round { directory: PathBuf, steps: Vec<ArchivedStep> },
}

impl Source {
    /// # Errors
    /// If it refers to neither an archive nor a round.
    pub fn open(name: &Path) -> anyhow::Result<Self> {
        let directory = find(name)?;
        match is_round(&directory) {
            true => Ok(Self::Round { steps: archived(&directory)?, directory }),
            false => Ok(Self::Run(Box::new(Account::of(open(&directory)?, ExplanationSource::Traces)))),
        }
    }

    /// Its directory, the default location of the document.
    pub fn directory(&self) -> &Path {
        match self {
            Self::Run(account) => &account.run().directory,
            Self::Round { directory, .. } => directory,
        }
    }

    pub fn accounts(&self) -> Box<dyn Iterator<Item = &Account> + '_> {
        match self {
            Self::Run(account) => Box::new(std::iter::once(account.as_ref())),
            Self::Round { steps, .. } => Box::new(steps.iter().map(|step| &step.account)),
        }
    }
}
