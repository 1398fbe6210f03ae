//! One run: measures, explains what was found, and prints the summary.

use super::seeds;
use crate::exit::{Exit, UsageError};
use crate::measuring::arguments::RunArguments;
use crate::measuring::ending::conclude;
use crate::measuring::machine::{self, is_board, is_in_virtual_time};
use crate::measuring::request::new_request;
use crate::measuring::signals::Signals;
use crate::terminal::progress::Progress;
use machines::board::AccessOptions;
use machines::meter_places::MeterPlaces;

/// Runs once; a board is to be had like this, and `command` is the command line as typed.
pub fn run(arguments: &RunArguments, access: AccessOptions, command: Vec<String>) -> anyhow::Result<Exit> {
    let settings = arguments.settings(is_in_virtual_time(&arguments.target))?;
    let meter = MeterPlaces::of_process().find()?;
    let signals = Signals::watch()?;
    if let Some(seeds) = arguments.seeds {
        return seeds::run(arguments, seeds, &settings, &command, &meter, &signals);
    }
    if access.deploy.is_some() && !is_board(&arguments.target) {
        return Err(UsageError(format!("--deploy is for boards, and {} is not a board", arguments.target)).into());
    }
    let mut target = machine::open_with(&arguments.target, &meter, &signals, access)?;
    let request = new_request(&arguments.target, &arguments.output, command, meter, settings)?;
    let output = &arguments.output;
    let mut progress = Progress::new(output.quiet, request.settings.duration_ns);
    let outcome = runner::run::run(target.as_mut(), &request, signals.requests(), &mut |event| progress.event(&event));
    conclude(outcome, &signals, &mut progress, output.showing())
}
