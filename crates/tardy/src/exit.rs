//! The exit codes of every verb. They are stable, because scripts depend on them.

use crate::nothing_measured::NothingMeasured;
use archive::reader::OpenError;
use archive::write_error::WriteError;
use runner::run::RunError;
use std::process::ExitCode;
use thiserror::Error;

/// How a verb ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Done as requested.
    Measured,
    /// A sample exceeded the limit.
    LimitExceeded,
    /// The command line names something that does not exist, or a combination that is invalid.
    Usage,
    /// Nothing was measured, or the numbers must not be used.
    NotMeasured,
    /// The numbers are sound but do not suffice for the request.
    NotEnoughData,
    /// The watched command failed by itself, with this code.
    Command(u8),
    /// The command that was to be watched cannot be executed.
    NotExecutable,
    /// There is no command of that name to watch.
    NoSuchCommand,
    /// A panic of this program.
    Defect,
    /// For `git bisect run`: this commit cannot be tested.
    Untestable,
    /// For `git bisect run`: end the search.
    GiveUp,
}

impl Exit {
    /// The exit code for an error: an error that the user can fix on the command line is wrong usage.
    pub fn of_error(error: &anyhow::Error) -> Self {
        let wrong_path = matches!(error.downcast_ref(), Some(OpenError::Missing(_) | OpenError::Foreign(_)));
        let taken = matches!(error.downcast_ref(), Some(RunError::Write(WriteError::Exists(_))))
            || matches!(error.downcast_ref(), Some(WriteError::Exists(_)));
        match error.downcast_ref() {
            Some(ProgramError::Missing(_)) => return Self::NoSuchCommand,
            Some(ProgramError::NotExecutable(_)) => return Self::NotExecutable,
            None => {}
        }
        if let Some(code) = error.downcast_ref::<NothingMeasured>().and_then(|nothing| nothing.command) {
            return Self::Command(code);
        }
        let refused = error.downcast_ref().is_some_and(NothingMeasured::is_usage);
        if wrong_path || taken || refused || error.is::<UsageError>() { Self::Usage } else { Self::NotMeasured }
    }
}

impl Exit {
    /// The exit code of a verb that runs a command and passes on its exit code: the codes for tardy's own errors are
    /// those of `timeout` and `env`, which no command should use.
    pub fn around_a_command(self) -> ExitCode {
        match self {
            Self::LimitExceeded => 124.into(),
            Self::Usage | Self::NotMeasured | Self::NotEnoughData => 125.into(),
            other => other.into(),
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Measured => 0,
            Exit::LimitExceeded => 1,
            Exit::Usage => 2,
            Exit::NotMeasured => 3,
            Exit::NotEnoughData => 4,
            Exit::Command(code) => code,
            Exit::NotExecutable => 126,
            Exit::NoSuchCommand => 127,
            // `EX_SOFTWARE` of sysexits(3).
            Exit::Defect => 70,
            Exit::Untestable => 125,
            Exit::GiveUp => 128,
        })
    }
}

/// An error in one line, with each cause that adds information.
pub fn in_words(error: &anyhow::Error) -> String {
    let mut words = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if !words.contains(&cause) {
            let between = if words.is_empty() { "" } else { ": " };
            words.push_str(&format!("{between}{cause}"));
        }
    }
    words
}

/// The command to watch cannot be run.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum ProgramError {
    #[error("there is no program {0} to start; give its path")]
    Missing(String),
    #[error("{0} cannot be executed; chmod +x {0}, or put its interpreter before it")]
    NotExecutable(String),
}

/// Part of the command line cannot be done; the text says what to type instead.
#[derive(Debug, Error)]
#[error("{0}")]
pub struct UsageError(pub String);
