//! `tardy watch`: measures and explains how late another program's threads wake, with no change to it.

mod arguments;
mod started;

pub use arguments::WatchArguments;

use crate::exit::Exit;
use crate::measuring::ending::conclude;
use crate::measuring::machine::{self, is_board};
use crate::measuring::request::new_request;
use crate::measuring::signals::Signals;
use crate::terminal::progress::Progress;
use archive::watched::WatchSettings;
use machines::local;
use machines::meter_places::MeterPlaces;
use runner::event::Event;
use started::Started;
use std::fs;
use std::io::{self, Write};
use std::path::Path;
use words::printable::printable;

/// Runs the verb; `command` is the command line as typed.
pub fn run(arguments: &WatchArguments, command: Vec<String>) -> anyhow::Result<Exit> {
    let mut settings = arguments.settings()?;
    let output = &arguments.output;
    let silent = output.json || output.quiet;
    let meter = MeterPlaces::of_process().find()?;
    let signals = Signals::watch()?;
    let mut target = machine::open(&arguments.target, &meter, &signals)?;
    let mut started = match arguments.command() {
        [] => None,
        // A board has its programs.
        _ if is_board(&arguments.target) => None,
        [program, ..] if arguments.target != local::NAME => {
            // A virtual machine has no files but those it is sent, and mounts its own over some folders.
            let path = fs::canonicalize(program)?;
            let there = Path::new("/").join(path.file_name().unwrap_or_default());
            target.send_file(&path, &there)?;
            let words = settings.watch.iter_mut().flat_map(|watch| watch.command.first_mut());
            words.for_each(|word| *word = there.display().to_string());
            None
        }
        // What the command prints would spoil a document of ours.
        words => Some(Started::waiting(&meter, words, silent)?),
    };
    if let (Some(started), Some(watch)) = (&started, &mut settings.watch) {
        *watch = WatchSettings { pid: Some(started.pid()), ours: true, ..std::mem::take(watch) };
    }
    let request = new_request(&arguments.target, output, command, meter, settings)?;
    // A block that is redrawn and the words of a command do not go on one terminal.
    let mut progress = Progress::new(output.quiet || started.is_some(), request.settings.duration_ns);
    let outcome = runner::run::run(target.as_mut(), &request, signals.requests(), &mut |event| {
        if let Event::Said { line } = &event {
            progress.aside(|| pass_on(line, silent));
        }
        progress.event(&event);
    });
    let ended = started.as_mut().map(Started::end);
    let exit = conclude(outcome, &signals, &mut progress, output.showing())?;
    if let Some(how) = ended.filter(|how| !how.is_success()) {
        complain!("tardy: the command {how}");
    }
    Ok(exit)
}

/// A line of a command that runs on another machine. A reader who has left does not end the watch.
fn pass_on(line: &str, aside: bool) {
    let line = printable(line);
    let _ = if aside { writeln!(io::stderr(), "{line}") } else { writeln!(io::stdout(), "{line}") };
}
