//! The request to the runner for one run.

use super::arguments::OutputArguments;
use crate::archives::make_new;
use archive::settings::RunSettings;
use machines::KnownTarget;
use runner::run::{RunRequest, TimeLimits};
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

/// The request to the runner, with a directory for the archive: that of the command line, or a new one below `runs/`.
///
/// # Errors
/// If the directory cannot be created.
pub fn new_request(
    target: &KnownTarget,
    output: &OutputArguments,
    command: Vec<String>,
    meter: PathBuf,
    settings: RunSettings,
) -> anyhow::Result<RunRequest> {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let (directory, id) = make_new(output.out.as_deref(), since_1970.as_secs(), &target.host_name())?;
    let limits = TimeLimits::of(&settings, output.silence());
    let tool_version = env!("CARGO_PKG_VERSION").into();
    Ok(RunRequest { id, directory, command, tool_version, meter, settings, limits })
}
