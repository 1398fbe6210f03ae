//! `tardy watch`: measures and explains how late the threads of an unmodified program wake.

mod arguments;

pub use arguments::WatchArguments;

use crate::chained;
use crate::exit::{Exit, UsageError};
use crate::measuring::command::{self, Started};
use crate::measuring::ending::conclude;
use crate::measuring::machine;
use crate::measuring::request::new_request;
use crate::measuring::save_requests;
use crate::measuring::signals::Signals;
use crate::nothing_measured::NothingMeasured;
use crate::terminal::progress::{Progress, View};
use crate::verb::{Group, Place, Verb};
use archive::message::RunPhase;
use clap::Command;
use machines::meter_places::MeterPlaces;
use runner::event::Event;
use runner::run::{CountedOutput, MeterRequests};
use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;
use words::printable::printable;

/// Code of the meter's problem if a command that it started on its machine failed.
const COMMAND_FAILED: &str = "meter.command-failed";

impl Verb for WatchArguments {
    const NAME: &'static str = "watch";
    const PLACE: Place = Place::Listed(Group::Measure);
    const EXAMPLES: &'static [&'static str] = &[
        "tardy watch -- ./robot --config arm.toml",
        "tardy watch --pid 4711 --duration 10min --limit 200us",
        "tardy watch --comm 'ros2_control*' --duration 1h",
        "tardy watch --target board --unit robot --duration 24h --limit 200us",
        "tardy watch --unit jackd --count XRun --journal jackd --duration 24h",
        "tardy watch --chain robot.toml --cycle-limit 2ms -- ./robot",
        "tardy watch --load messaging --cycle-limit 1ms -- ./robot",
        "tardy watch --duration 10s --count XRun --limit 500us -- jackd -R -ddummy -r48000 -p64",
    ];
    const NOTES: &'static str = "\
It ends with the program, after --duration, or with Ctrl-C; a program that was already running keeps running. A program named by \
--comm, --unit, --cgroup or --container may restart: the watch continues with its new processes.
SIGUSR1, Enter at the terminal, or a line `tardy: save REASON` that a program writes to /sys/kernel/tracing/trace_marker keeps the \
last seconds as a spike.
A sample is one wake-up of a thread, as the kernel sees it: from the instant its timer was set for (or, without a timer, \
from being woken) until it gets the CPU. Cycles are timed as well: from there until the next timer is set.
Exit codes with a COMMAND: its own, or 128 and the number of the signal that ended it; 124 limit exceeded, 125 tardy failed: wrong \
usage, could not measure or the numbers are invalid; 126 the command cannot be executed, 127 there is no such command. With a \
program that already runs: 0 measured, 1 limit exceeded, 2 wrong usage, 3 could not measure or the numbers are invalid.";

    fn run(&self, typed: Vec<String>) -> anyhow::Result<Exit> {
        run(self, typed)
    }

    fn defined(derived: Command) -> Command {
        arguments::own_help(derived)
    }

    /// With a command the exit code is the command's, so tardy's own codes differ.
    fn exit_code(exit: Exit, words: &[OsString]) -> ExitCode {
        if words.iter().any(|word| word == "--") { exit.around_a_command() } else { exit.into() }
    }
}

/// Runs the verb; `typed` is the command line.
fn run(arguments: &WatchArguments, typed: Vec<String>) -> anyhow::Result<Exit> {
    let declared = arguments.chain.as_deref().map(|path| Ok::<_, UsageError>((path, chained::declared(path)?)));
    let declared = declared.transpose()?;
    let known = machine::find(&arguments.target)?;
    let mut settings = arguments.settings(&known)?;
    if let Some((watch, (_, file))) = settings.watch.as_mut().zip(declared.as_ref()) {
        file.request(watch);
    }
    let output = &arguments.output;
    let silent = output.json || output.quiet;
    let meter = MeterPlaces::of_process().find()?;
    let counted = CountedOutput::new(arguments.texts_to_count());
    let signals = Signals::watch()?;
    let requests = MeterRequests::default();
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
    // A command has the terminal for itself.
    save_requests::listen(&requests, started.is_none() && !silent)?;
    let mut progress = Progress::new(view, &request.settings);
    let mut failed_there = false;
    let from_here = (&counted, &requests);
    let outcome = runner::run::run_watching(target.as_mut(), &request, from_here, signals.requests(), &mut |event| {
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
    let archive = outcome.as_ref().ok().map(|outcome| outcome.directory.clone());
    let exit = conclude(outcome, &signals, &mut progress, output.showing());
    if let Some(how) = ended.filter(|how| !how.is_success() && own_failure.is_some()) {
        complain!("tardy: the command {how}");
    }
    let exit = exit.map_err(|error| match error.downcast::<NothingMeasured>() {
        Ok(nothing) => NothingMeasured { command: own_failure, ..nothing }.into(),
        Err(other) => other,
    })?;
    if let Some(((path, file), archive)) = declared.zip(archive).filter(|_| !silent) {
        chained::show_snapshots(&archive, &file, path)?;
    }
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
