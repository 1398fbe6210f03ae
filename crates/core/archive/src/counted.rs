//! Lines in the output or the log of a watched program that contain a text to count.

pub mod counting;

use serde::{Deserialize, Serialize};

/// Maximum number of characters of a line that are kept.
pub const LINE_LETTERS_MAX: usize = 200;
/// Maximum number of lines of a run that are kept; further ones are only counted.
pub const LINES_KEPT_MAX: usize = 10_000;

/// One line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CountedLine {
    /// Position of the text in [`crate::watched::WatchSettings::count`].
    pub text: u32,
    /// CLOCK_MONOTONIC of the watched machine when the line was read, in ns; `None` if the command ran on another
    /// machine.
    pub monotonic_ns: Option<i64>,
    /// Longest time from its writing until it was read, in ns; `None` if that is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uncertain_ns: Option<u64>,
    /// Its first characters.
    pub line: String,
}

/// The counts so far.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OutputCounts {
    /// Lines with each text since the start; a later message replaces them.
    pub totals: Vec<u64>,
    /// Lines that were not in an earlier message. Only the first ones of a run are kept.
    pub lines: Vec<CountedLine>,
}
