//! Short answers about archives for programs that read few bytes: typed facts in at most [`BYTES_MAX`] bytes of JSON.
//!
//! Each answer has a file. [`fitted`] drops the least important parts of an answer until it fits, and `left_out` counts them. An
//! archive may come from an untrusted source: its texts are values of fields, cut to a length, and never part of a sentence.

pub mod causes;
pub mod compared;
pub mod evidence;
pub mod fitted;
pub mod judged;
pub mod left_out;
mod observations;
pub mod short;
pub mod spike;

/// Bytes of an answer as it is printed.
pub const BYTES_MAX: usize = 2048;
/// Counts changes of the answers that a reader must know.
pub const BRIEF_VERSION: u32 = 1;
