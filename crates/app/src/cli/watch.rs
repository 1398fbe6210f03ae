//! `tardy watch`: measures and explains how late another program's threads wake, with no change to it.

mod arguments;
mod started;

pub use arguments::WatchArguments;

use super::archives::make_new;
use super::exit::Exit;
use super::run::{exit_of, host, open_target, show, signals::Signals};
use super::target;
use crate::explaining::explain_run;
use crate::progress::Progress;
use crate::text::printable::printable;
use archive::manifest::RunState;
use archive::reader::Run;
use archive::summary::RunSummary;
use archive::watched::WatchSettings;
use runner::event::Event;
use runner::meter::MeterPlaces;
use runner::run::{RunRequest, TimeLimits};
use runner::target::local;
use started::Started;
use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// Runs the verb; `command` is the command line as typed.
pub fn run(arguments: &WatchArguments, command: Vec<String>) -> anyhow::Result<Exit> {
    let mut settings = arguments.settings()?;
    let meter = MeterPlaces::of_process().find()?;
    let signals = Signals::watch()?;
    let mut target = open_target(&arguments.target, &meter, &signals)?;
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let (directory, id) = make_new(arguments.output.out.as_deref(), since_1970.as_secs(), &host(&arguments.target))?;
    let mut started = match arguments.command() {
        [] => None,
        // A board has its programs.
        _ if target::is_board(&arguments.target) => None,
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
        words => Some(Started::waiting(&meter, words, arguments.output.json || arguments.output.quiet)?),
    };
    if let (Some(started), Some(watch)) = (&started, &mut settings.watch) {
        *watch = WatchSettings { pid: Some(started.pid()), ours: true, ..std::mem::take(watch) };
    }
    let limits = TimeLimits::of(&settings, arguments.output.silence());
    let duration_ns = settings.duration_ns;
    let request =
        RunRequest { id, directory, command, tool_version: env!("CARGO_PKG_VERSION").into(), meter, settings, limits };
    // A block that is redrawn and the words of a command do not go on one terminal.
    let mut progress = Progress::new(arguments.output.quiet || started.is_some(), arguments.output.json, duration_ns);
    let outcome = runner::run::run(target.as_mut(), &request, signals.requests(), &mut |event| {
        if let Event::Said { line } = &event {
            progress.aside(|| pass_on(line, arguments.output.json || arguments.output.quiet));
        }
        progress.event(&event);
    });
    let ended = started.as_mut().map(Started::end);
    signals.measuring_is_over();
    let outcome = outcome.inspect_err(|_| progress.clear())?;
    let run = Run::open(&outcome.directory)?;
    let explanations = explain_run(&run, &mut |done, total| progress.explaining(done, total));
    progress.clear();
    if let Err(error) = run.save_explanations(&explanations) {
        eprintln!("tardy: {}", printable(&error.to_string()));
    }
    let summary = RunSummary::of(&run, &explanations);
    let broken = outcome.problem.as_deref().filter(|_| outcome.state != RunState::Interrupted || !summary.valid);
    show(arguments.output.json, arguments.output.quiet, &summary, broken)?;
    if let Some(how) = ended.filter(|how| !how.is_success()) {
        eprintln!("tardy: the command {how}");
    }
    if let Some(broken) = broken.filter(|text| !progress.has_told(text)) {
        eprintln!("tardy: {}", printable(broken));
    }
    Ok(exit_of(&summary))
}

/// A line of a command that runs on another machine. A reader who has left does not end the watch.
fn pass_on(line: &str, aside: bool) {
    let line = printable(line);
    let _ = if aside { writeln!(io::stderr(), "{line}") } else { writeln!(io::stdout(), "{line}") };
}
