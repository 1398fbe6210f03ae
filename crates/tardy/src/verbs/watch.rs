//! `tardy watch`: measures and explains how late the threads of an unmodified program wake.

mod arguments;
mod interpreter;
mod reading;
mod started;

pub use arguments::WatchArguments;

use crate::exit::{Exit, UsageError};
use crate::measuring::ending::conclude;
use crate::measuring::machine::{self, is_board};
use crate::measuring::request::new_request;
use crate::measuring::signals::Signals;
use crate::terminal::progress::Progress;
use archive::message::RunPhase;
use archive::watched::WatchSettings;
use machines::local;
use machines::meter_places::MeterPlaces;
use runner::event::Event;
use runner::run::CountedOutput;
use started::Started;
use std::fs;
use std::io::{self, Write};
use std::path::Path;
use words::printable::printable;

/// Code of the meter's problem if a command that it started on its machine failed.
const COMMAND_FAILED: &str = "meter.command-failed";

/// Runs the verb; `command` is the command line as typed.
pub fn run(arguments: &WatchArguments, command: Vec<String>) -> anyhow::Result<Exit> {
    let mut settings = arguments.settings()?;
    let output = &arguments.output;
    let silent = output.json || output.quiet;
    let meter = MeterPlaces::of_process().find()?;
    let counted = CountedOutput::new(arguments.texts_to_count());
    let signals = Signals::watch()?;
    let mut target = machine::open(&arguments.target, &meter, &signals)?;
    let mut started = match arguments.command() {
        [] => None,
        // A board has its own programs.
        _ if is_board(&arguments.target) => None,
        [program, ..] if arguments.target != local::NAME => {
            // A virtual machine has no files except those sent to it, and mounts its own file systems over some
            // directories.
            let path = fs::canonicalize(program)?;
            if let Some(interpreter) = interpreter::of(&path)? {
                let (program, target) = (path.display(), &arguments.target);
                let text = format!(
                    "{program} needs {interpreter}, and the virtual machine {target} has no files but those it is sent; link \
                     the program statically (gcc -static, or a musl target in Rust)"
                );
                return Err(UsageError(text).into());
            }
            let there = Path::new("/").join(path.file_name().unwrap_or_default());
            target.send_file(&path, &there)?;
            let words = settings.watch.iter_mut().flat_map(|watch| watch.command.first_mut());
            words.for_each(|word| *word = there.display().to_string());
            None
        }
        // The output of the command would corrupt a JSON document.
        words => Some(Started::waiting(&meter, words, silent, &counted)?),
    };
    if let (Some(started), Some(watch)) = (&started, &mut settings.watch) {
        *watch = WatchSettings { pid: Some(started.pid()), ours: true, ..std::mem::take(watch) };
    }
    let request = new_request(&arguments.target, output, command, meter, settings)?;
    // A redrawn block and the output of a command cannot share a terminal.
    let mut progress = Progress::new(output.quiet || started.is_some(), request.settings.duration_ns);
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
    let own_failure = started.as_ref().and_then(Started::own_failure);
    let exit = conclude(outcome, &signals, &mut progress, output.showing())?;
    if let Some(how) = ended.filter(|how| !how.is_success()) {
        complain!("tardy: the command {how}");
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
