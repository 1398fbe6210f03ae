//! `tardy watch`: measures and explains how late the threads of an unmodified program wake.

mod arguments;

pub use arguments::{WatchArguments, own_help};

use crate::exit::Exit;
use crate::measuring::command::{self, Started};
use crate::measuring::ending::conclude;
use crate::measuring::machine;
use crate::measuring::request::new_request;
use crate::measuring::signals::Signals;
use crate::refusal::NothingMeasured;
use crate::terminal::progress::{Progress, View};
use archive::message::RunPhase;
use machines::meter_places::MeterPlaces;
use runner::event::Event;
use runner::run::CountedOutput;
use std::io::{self, Write};
use words::printable::printable;

/// Code of the meter's problem if a command that it started on its machine failed.
const COMMAND_FAILED: &str = "meter.command-failed";

/// Runs the verb; `typed` is the command line.
pub fn run(arguments: &WatchArguments, typed: Vec<String>) -> anyhow::Result<Exit> {
    let known = machine::find(&arguments.target)?;
    let mut settings = arguments.settings(&known)?;
    let output = &arguments.output;
    let silent = output.json || output.quiet;
    let meter = MeterPlaces::of_process().find()?;
    let counted = CountedOutput::new(arguments.texts_to_count());
    let signals = Signals::watch()?;
    let mut target = machine::open(&known, &meter, &signals)?;
    // The output of the command would corrupt a JSON document.
    let mut started = match &mut settings.watch {
        Some(watch) => command::prepare(&known, target.as_mut(), watch, &meter, &[], silent, &counted)?,
        None => None,
    };
    let request = new_request(&known, output, typed, meter, settings)?;
    // A redrawn block and the output of a command cannot share a terminal.
    let view = match (&started, output.view()) {
        (Some(_), View::Live | View::Lines) if !silent => View::Lines,
        (Some(_), _) => View::Nothing,
        (None, view) => view,
    };
    let mut progress = Progress::new(view, request.settings.duration_ns);
    let mut failed_there = false;
    let outcome = runner::run::run_counting(target.as_mut(), &request, &counted, signals.requests(), &mut |event| {
        match &event {
            Event::Said { line } => {
                // The time of the line on that machine's clock is unknown.
                counted.look_at(line, None);
                progress.aside(|| pass_on(line, silent));
            }
            // A command that is still running is asked to end after this phase has begun.
            Event::Phase(RunPhase::Collect) => started.iter_mut().for_each(Started::notice_end),
            Event::Problem(problem) if problem.code == COMMAND_FAILED => failed_there = true,
            _ => {}
        }
        progress.event(&event);
    });
    let ended = started.as_mut().map(Started::end);
    let own_failure =
        started.as_ref().and_then(|command| command.own_failure(command::asked_to_end(&signals, &outcome)));
    let exit = conclude(outcome, &signals, &mut progress, output.showing());
    if let Some(how) = ended.filter(|how| !how.is_success()) {
        complain!("tardy: the command {how}");
    }
    let exit = exit.map_err(|error| match error.downcast::<NothingMeasured>() {
        Ok(nothing) => NothingMeasured { command: own_failure, ..nothing }.into(),
        Err(other) => other,
    })?;
    Ok(match (exit, own_failure, failed_there) {
        (Exit::Measured, Some(code), _) => Exit::Command(code),
        (Exit::Measured, None, true) => Exit::NotMeasured,
        (exit, _, _) => exit,
    })
}

/// Prints a line of a command that runs on another machine. A closed pipe does not end the watch.
fn pass_on(line: &str, aside: bool) {
    let line = printable(line);
    let _ = if aside { writeln!(io::stderr(), "{line}") } else { writeln!(io::stdout(), "{line}") };
}
