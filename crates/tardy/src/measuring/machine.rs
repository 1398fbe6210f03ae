//! The machine under test: found by its name once for each command, and opened for each run.

use super::signals::Signals;
use crate::exit::UsageError;
use crate::options::quantity::positive_time_ns;
use clap::Args;
use machines::board::{AccessOptions, Purpose};
use machines::target_file::TargetFileError;
use machines::{KnownTarget, Target};
use std::path::Path;
use std::time::Duration;
use words::printable::printable;

/// How a board is to be had.
#[derive(Debug, Args)]
pub struct AccessArguments {
    /// If the board is in use, wait until it is free, at most TIME
    #[arg(long, value_name = "TIME", num_args = 0..=1, default_missing_value = "24h", value_parser = positive_time_ns, help_heading = "Board", hide_short_help = true)]
    wait: Option<u64>,
}

impl AccessArguments {
    pub fn options(&self, purpose: Purpose) -> AccessOptions {
        AccessOptions { purpose, wait: Duration::from_nanos(self.wait.unwrap_or(0)), ..reporting() }
    }
}

/// Progress is reported on standard error.
pub fn reporting() -> AccessOptions {
    AccessOptions { report: |text| complain!("tardy: {}", printable(text)), ..AccessOptions::default() }
}

/// The target with this name.
///
/// # Errors
/// A [`UsageError`] that names the fix, if it does not exist or its file cannot be used.
pub fn find(name: &str) -> Result<KnownTarget, UsageError> {
    KnownTarget::find(name).map_err(usage)
}

/// A target, ready for one run. Progress is reported on standard error.
///
/// # Errors
/// If it cannot be opened here.
pub fn open(target: &KnownTarget, meter: &Path, signals: &Signals) -> anyhow::Result<Box<dyn Target>> {
    Ok(target.open(meter, reporting(), signals.requests().clone())?)
}

/// Prepares a target, asks it, and closes it, also after an error: the answer matters more than the state in which the
/// machine was left.
///
/// # Errors
/// If it cannot be opened or prepared, does not answer, or cannot be closed.
pub fn ask<T>(
    target: &KnownTarget,
    meter: &Path,
    question: impl FnOnce(&mut dyn Target) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let mut target = open(target, meter, &Signals::watch()?)?;
    target.prepare()?;
    let answer = question(target.as_mut());
    let closed = target.close();
    let answer = answer?;
    closed?;
    Ok(answer)
}

/// The user fixes a missing or wrong target on the command line or in its file.
pub fn usage(error: TargetFileError) -> UsageError {
    UsageError(error.to_string())
}
