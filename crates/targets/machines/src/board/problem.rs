//! Problems of preparing a board.

use archive::problem::{Code, Definition, ProblemKind};
use std::fmt;

/// A problem of preparing a board.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BoardProblem {
    /// The login is not root.
    NotRoot { board: String },
}

impl fmt::Display for BoardProblem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotRoot { board } => write!(out, "the login on board {board} is not root"),
        }
    }
}

impl ProblemKind for BoardProblem {
    fn code(&self) -> Code {
        Code::new(match self {
            Self::NotRoot { .. } => "machine.not-root",
        })
    }

    fn fix(&self) -> String {
        match self {
            Self::NotRoot { .. } => "log in as root, or use --sudo with `tardy target add`".into(),
        }
    }
}

/// Every code of this file.
pub const DEFINITIONS: &[Definition] = &[Definition {
    code: "machine.not-root",
    meaning: "The login on the board is not root, so settings cannot be changed and traces cannot be taken.",
    fix: "Log in as root, or use --sudo with `tardy target add`.",
}];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::assert_defined;

    #[test]
    fn every_code_is_defined_once() {
        assert_defined(&[&BoardProblem::NotRoot { board: String::new() }], DEFINITIONS);
    }
}
