//! Problems of preparing a board.

use archive::problem::Problem;
use thiserror::Error;

/// A problem of preparing a board.
#[derive(Debug, Clone, PartialEq, Eq, Error, Problem)]
pub enum BoardProblem {
    /// The login is not root.
    #[error("the login on board {board} is not root")]
    #[problem(
        code = "machine.not-root",
        meaning = "The login on the board is not root, so settings cannot be changed and traces cannot be taken.",
        fix = "log in as root, or use --sudo with `tardy target add`"
    )]
    NotRoot { board: String },
}
