//! `tardy run`: measures, explains what was found, and prints the summary.

mod arguments;
pub mod collect;
mod ending;
mod extent_arguments;
mod of_plan;
mod output_arguments;
mod seeds;
pub mod signals;
mod trace_arguments;
mod tracer_arguments;
pub mod words;

pub use arguments::RunArguments;
pub use ending::{conclude, exit_of};
pub use extent_arguments::ExtentArguments;
pub use of_plan::RunVerb;
pub use output_arguments::{OutputArguments, Showing};
pub use trace_arguments::{TraceArguments, TraceDefaults};

use super::archives::make_new;
use super::exit::{Exit, UsageError};
use super::target;
use crate::progress::Progress;
use archive::settings::RunSettings;
use runner::meter::MeterPlaces;
use runner::run::{RunRequest, TimeLimits};
use runner::target::Target;
use runner::target::board::AccessOptions;
use runner::target::local::{self, LocalTarget};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// Runs the verb; `command` is the command line as typed.
pub fn run(verb: &RunVerb, command: Vec<String>) -> anyhow::Result<Exit> {
    if verb.is_of_plan() {
        return of_plan::run(verb, command);
    }
    let arguments = &verb.run;
    let settings = arguments.settings(target::is_in_virtual_time(&arguments.target))?;
    let meter = MeterPlaces::of_process().find()?;
    let signals = signals::Signals::watch()?;
    if let Some(seeds) = arguments.seeds {
        return seeds::run(arguments, seeds, &settings, &command, &meter, &signals);
    }
    if verb.access().deploy.is_some() && !target::is_board(&arguments.target) {
        return Err(UsageError(format!("--deploy is for boards, and {} is none", arguments.target)).into());
    }
    let mut target = open_target_with(&arguments.target, &meter, &signals, verb.access())?;
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

/// The machine that was named, ready for one run.
pub fn open_target(name: &str, meter: &Path, signals: &signals::Signals) -> anyhow::Result<Box<dyn Target>> {
    open_target_with(name, meter, signals, target::told())
}

/// The machine that was named, ready for one run; a board is to be had like this.
pub fn open_target_with(
    name: &str,
    meter: &Path,
    signals: &signals::Signals,
    access: AccessOptions,
) -> anyhow::Result<Box<dyn Target>> {
    Ok(match name {
        local::NAME => Box::new(LocalTarget),
        name => target::open(name, meter, access, signals.requests().clone())?,
    })
}

/// The machine under test, for the name of the archive.
pub fn host(target: &str) -> String {
    if target != local::NAME {
        return target.to_owned();
    }
    let read = fs::read_to_string("/proc/sys/kernel/hostname");
    read.map_or_else(|_| "unknown".into(), |name| name.trim().to_owned())
}
