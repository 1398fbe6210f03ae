//! Problems of preparing a place of a lab.

use archive::problem::{Code, Definition, ProblemKind};
use std::fmt;

/// A problem of preparing a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlaceProblem {
    /// It was already acquired, and stays acquired.
    Kept { place: String, release: String },
}

impl fmt::Display for PlaceProblem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kept { place, .. } => write!(out, "you had place {place} before, so it is not released"),
        }
    }
}

impl ProblemKind for PlaceProblem {
    fn code(&self) -> Code {
        Code::new(match self {
            Self::Kept { .. } => "machine.place-kept",
        })
    }

    fn fix(&self) -> String {
        match self {
            Self::Kept { release, .. } => format!("when you are done with it: {release}"),
        }
    }
}

/// Every code of this file.
pub const DEFINITIONS: &[Definition] = &[Definition {
    code: "machine.place-kept",
    meaning: "You had acquired the labgrid place before, so it stays acquired after the run.",
    fix: "Release it with labgrid-client when you are done.",
}];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::assert_defined;

    #[test]
    fn every_code_is_defined_once() {
        assert_defined(&[&PlaceProblem::Kept { place: String::new(), release: String::new() }], DEFINITIONS);
    }
}
