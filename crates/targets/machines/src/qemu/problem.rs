//! Problems of preparing a virtual machine from a saved state.

use archive::problem::Problem;
use thiserror::Error;

/// A problem of a saved state.
#[derive(Debug, Clone, PartialEq, Eq, Error, Problem)]
pub enum StateProblem {
    /// The machine was restored from it.
    #[error(
        "the machine resumed from a saved state instead of booting: every run from this state has the same random \
         numbers, addresses and boot ID"
    )]
    #[problem(
        code = "machine.restored",
        meaning = "The virtual machine resumed from a saved state. All runs from it share that boot's randomness.",
        fix = "where boots must differ, set `saved_state = false` in the target file"
    )]
    Restored,
    /// It could not be loaded.
    #[error("the saved state did not load, so the machine booted: {why}")]
    #[problem(
        code = "machine.state-not-loaded",
        meaning = "The saved state of the virtual machine did not load; the machine booted instead.",
        fix = "",
        documented_fix = "Nothing: the state was removed, and the next boot saves another."
    )]
    NotLoaded { why: String },
    /// It could not be saved.
    #[error("the state of the machine could not be saved: {why}")]
    #[problem(
        code = "machine.state-not-saved",
        meaning = "The state of the virtual machine could not be saved; the next run boots again.",
        fix = "the next machine boots as well; `saved_state = false` in the target file spares the attempt",
        documented_fix = "Set `saved_state = false` in the target file to skip the attempt."
    )]
    NotSaved { why: String },
}
