//! One run: measures, explains what was found, and prints the summary.

mod arguments;
mod ending;
mod extent_arguments;
mod output_arguments;
mod seeds;
mod trace_arguments;
mod tracer_arguments;
pub mod words;

pub use arguments::RunArguments;
pub use ending::{conclude, exit_of};
pub use extent_arguments::ExtentArguments;
pub use output_arguments::{OutputArguments, Showing};
pub use trace_arguments::{TraceArguments, TraceDefaults};

use super::archives::make_new;
use super::exit::{Exit, UsageError};
use super::machine::{self, host, is_board, is_in_virtual_time};
use super::signals::Signals;
use crate::progress::Progress;
use archive::settings::RunSettings;
use machines::board::AccessOptions;
use machines::meter_places::MeterPlaces;
use runner::run::{RunRequest, TimeLimits};
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

/// Runs once; a board is to be had like this, and `command` is the command line as typed.
pub fn run(arguments: &RunArguments, access: AccessOptions, command: Vec<String>) -> anyhow::Result<Exit> {
    let settings = arguments.settings(is_in_virtual_time(&arguments.target))?;
    let meter = MeterPlaces::of_process().find()?;
    let signals = Signals::watch()?;
    if let Some(seeds) = arguments.seeds {
        return seeds::run(arguments, seeds, &settings, &command, &meter, &signals);
    }
    if access.deploy.is_some() && !is_board(&arguments.target) {
        return Err(UsageError(format!("--deploy is for boards, and {} is none", arguments.target)).into());
    }
    let mut target = machine::open_with(&arguments.target, &meter, &signals, access)?;
    let request = new_request(&arguments.target, &arguments.output, command, meter, settings)?;
    let output = &arguments.output;
    let mut progress = Progress::new(output.quiet, output.json, request.settings.duration_ns);
    let outcome = runner::run::run(target.as_mut(), &request, signals.requests(), &mut |event| progress.event(&event));
    conclude(outcome, &signals, &mut progress, output.showing())
}

/// What is asked of the runner, with a directory for the archive: the one that was typed, or a new one below `runs/`.
///
/// # Errors
/// When the directory cannot be made.
pub fn new_request(
    target: &str,
    output: &OutputArguments,
    command: Vec<String>,
    meter: PathBuf,
    settings: RunSettings,
) -> anyhow::Result<RunRequest> {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let (directory, id) = make_new(output.out.as_deref(), since_1970.as_secs(), &host(target))?;
    let limits = TimeLimits::of(&settings, output.silence());
    let tool_version = env!("CARGO_PKG_VERSION").into();
    Ok(RunRequest { id, directory, command, tool_version, meter, settings, limits })
}
