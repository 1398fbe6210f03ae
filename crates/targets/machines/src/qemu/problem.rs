//! Problems of preparing a virtual machine from a saved state.

use archive::problem::{Code, Definition, ProblemKind};
use std::fmt;

/// A problem of a saved state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StateProblem {
    /// The machine was restored from it.
    Restored,
    /// It could not be loaded.
    NotLoaded { why: String },
    /// It could not be saved.
    NotSaved { why: String },
}

impl fmt::Display for StateProblem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Restored => out.write_str(
                "the machine went on from a saved state instead of booting: every run from this state has the same random \
                 numbers, addresses and boot ID",
            ),
            Self::NotLoaded { why } => write!(out, "the saved state did not load, so the machine booted: {why}"),
            Self::NotSaved { why } => write!(out, "the state of the machine could not be saved: {why}"),
        }
    }
}

impl ProblemKind for StateProblem {
    fn code(&self) -> Code {
        Code::new(match self {
            Self::Restored => "machine.restored",
            Self::NotLoaded { .. } => "machine.state-not-loaded",
            Self::NotSaved { .. } => "machine.state-not-saved",
        })
    }

    fn fix(&self) -> String {
        match self {
            Self::Restored => "where boots must differ, set `saved_state = false` in the target file".into(),
            Self::NotLoaded { .. } => String::new(),
            Self::NotSaved { .. } => {
                "the next machine boots as well; `saved_state = false` in the target file spares the attempt".into()
            }
        }
    }
}

/// Every code of this file.
pub const DEFINITIONS: &[Definition] = &[
    Definition {
        code: "machine.restored",
        meaning: "The virtual machine went on from a saved state. All runs from it share that boot's randomness.",
        fix: "Where boots must differ, set `saved_state = false` in the target file.",
    },
    Definition {
        code: "machine.state-not-loaded",
        meaning: "The saved state of the virtual machine did not load; the machine booted instead.",
        fix: "Nothing: the state was removed, and the next boot saves another.",
    },
    Definition {
        code: "machine.state-not-saved",
        meaning: "The state of the virtual machine could not be saved; the next run boots again.",
        fix: "Set `saved_state = false` in the target file to skip the attempt.",
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::assert_defined;

    #[test]
    fn every_code_is_defined_once() {
        assert_defined(
            &[
                &StateProblem::Restored,
                &StateProblem::NotLoaded { why: String::new() },
                &StateProblem::NotSaved { why: String::new() },
            ],
            DEFINITIONS,
        );
    }
}
