//! The meaning of a word of the list: a target, options of `tardy run`, or a value for a command.

use super::BisectArguments;
use crate::exit::UsageError;
use crate::measuring::variant::Variant;
use machines::KnownTarget;
use std::process::{Command, Stdio};

/// The environment variable that contains the candidate.
const VARIABLE: &str = "TARDY_CANDIDATE";
/// A command that exits with this code reports that the candidate cannot be tested, as in git.
const UNTESTABLE: i32 = 125;

/// A candidate that can be measured.
#[derive(Debug, Clone)]
pub struct Candidate {
    pub variant: Variant,
    pub target: KnownTarget,
}

/// Why a candidate is not ready to be measured.
#[derive(Debug)]
pub enum Unprepared {
    Untestable(String),
    /// The whole search is no longer useful.
    GiveUp(String),
}

impl Candidate {
    /// # Errors
    /// If the word is not a candidate.
    pub fn parse(word: &str, arguments: &BisectArguments) -> Result<Self, UsageError> {
        let shared = arguments.options.clone();
        let (variant, target) = match &arguments.before {
            Some(before) => Variant::parse("", &shared, Some(with_candidate(before, word)))?,
            None if word.is_empty() || word.starts_with('-') => Variant::parse(word, &shared, None)?,
            None => Variant::parse("", &[vec!["--target".into(), word.to_owned()], shared].concat(), None)?,
        };
        Ok(Self { variant, target })
    }

    pub fn in_virtual_time(&self) -> bool {
        self.target.is_in_virtual_time()
    }

    /// Runs the command before a measurement, if there is one; returns the target to measure on.
    ///
    /// # Errors
    /// [`Unprepared`].
    pub fn prepare(&self) -> Result<KnownTarget, Unprepared> {
        if let Some(line) = &self.variant.before {
            run_before(line)?;
        }
        self.variant.target_after_command(&self.target).map_err(|error| Unprepared::GiveUp(error.to_string()))
    }
}

fn run_before(line: &str) -> Result<(), Unprepared> {
    let mut command = Command::new("sh");
    // Standard output is for the result.
    command.args(["-c", line]).stdin(Stdio::null()).stdout(Stdio::from(std::io::stderr()));
    let status = command.status().map_err(|error| Unprepared::GiveUp(format!("failed to start a shell: {error}")))?;
    match status.code() {
        Some(0) => Ok(()),
        Some(UNTESTABLE) => Err(Unprepared::Untestable("the command before it says so".into())),
        Some(code) if code < 128 => {
            Err(Unprepared::Untestable(format!("the command before it ended with code {code}")))
        }
        _ => Err(Unprepared::GiveUp(format!("the command before it ended with {status}"))),
    }
}

/// A shell command line with the candidate in the environment, so that the shell does not interpret its characters.
fn with_candidate(before: &str, word: &str) -> String {
    format!("export {VARIABLE}='{}'\n{before}", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_candidate_reaches_the_command_whatever_its_letters() {
        for word in ["v6.1", "a b", "it's", "$(false)", "`x`", "\"", "a;exit 9"] {
            let line = with_candidate("printf %s \"$TARDY_CANDIDATE\"", word);
            let output = Command::new("sh").args(["-c", &line]).output().unwrap();
            assert_eq!(String::from_utf8(output.stdout).unwrap(), word);
        }
    }
}
