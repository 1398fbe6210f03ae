//! A run that ended before its first sample.

use archive::problem::Problem;
use thiserror::Error;

/// Why nothing was measured; the run left no archive.
#[derive(Debug, Error)]
#[error("{text}; nothing was measured, so there is no archive{kept}", text = with_fix(.problem))]
pub struct NothingMeasured {
    pub problem: Problem,
    /// Where the console of the machine was kept, as the end of the sentence.
    pub kept: String,
    /// The code with which the command to measure failed by itself.
    pub command: Option<u8>,
}

/// A problem in a sentence with its fix.
pub fn with_fix(problem: &Problem) -> String {
    if problem.fix.is_empty() { problem.text.clone() } else { format!("{}; {}", problem.text, problem.fix) }
}

/// Codes of problems that the user can fix on the command line, although only the machine under test detects them.
const OF_THE_COMMAND_LINE: [&str; 12] = [
    "meter.interval-out-of-range",
    "meter.priority-out-of-range",
    "meter.worst-kept-out-of-range",
    "meter.cpus-not-allowed",
    "meter.not-a-setting",
    "meter.name-pattern",
    "meter.nothing-to-watch",
    "meter.no-process",
    "meter.no-such-thread",
    "meter.no-process-in-group",
    "meter.log-not-read",
    "meter.command-not-started",
];

impl NothingMeasured {
    pub fn is_usage(&self) -> bool {
        OF_THE_COMMAND_LINE.iter().any(|code| self.problem.code == *code)
    }
}
