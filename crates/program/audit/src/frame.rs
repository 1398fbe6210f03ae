//! An address in the code of a program.

use serde::Serialize;

/// The address of an instruction, and where that is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Frame {
    pub address: u64,
    /// The file that it is in, and the offset in that file; absent if no look at the process saw it.
    pub file: Option<String>,
    pub offset: Option<u64>,
    /// The function, where the file names it.
    pub function: Option<String>,
}
