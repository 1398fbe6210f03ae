//! Why a change is not undone.

use crate::journal::undo_error::UndoError;
use std::io;
use std::path::Path;

#[derive(Debug)]
pub enum Fault {
    Io(io::Error),
    /// Another program changed it meanwhile.
    Changed,
    /// It is in use by these.
    InUse(Vec<String>),
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl Fault {
    pub fn at(self, path: &Path) -> UndoError {
        let path = path.to_owned();
        match self {
            Self::Io(source) => UndoError::Setup { path, source },
            Self::Changed => UndoError::ChangedSinceSetup { path },
            Self::InUse(instances) => UndoError::InstancesInUse { path, instances: instances.join(", ") },
        }
    }
}
