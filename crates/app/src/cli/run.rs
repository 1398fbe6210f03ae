//! `tardy run`: measures, explains what was found, and prints the summary.

mod arguments;
pub mod collect;
mod of_plan;
mod output_arguments;
mod seeds;
pub mod signals;
mod trace_arguments;
mod tracer_arguments;
pub mod words;

pub use arguments::RunArguments;
pub use of_plan::RunVerb;
pub use output_arguments::OutputArguments;
pub use trace_arguments::{TraceArguments, TraceDefaults};

use super::archives::make_new;
use super::exit::{Exit, UsageError};
use super::target;
use crate::explaining::explain_run;
use crate::progress::Progress;
use crate::summary_text::{problems, summary_page};
use crate::text::json;
use crate::text::page::Page;
use crate::text::printable::printable;
use archive::manifest::RunState;
use archive::reader::Run;
use archive::summary::RunSummary;
use runner::meter::MeterPlaces;
use runner::run::{RunRequest, TimeLimits};
use runner::target::Target;
use runner::target::board::AccessOptions;
use runner::target::local::{self, LocalTarget};
use std::fs;
use std::path::Path;
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
    let started = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let (directory, id) = make_new(arguments.output.out.as_deref(), started.as_secs(), &host(&arguments.target))?;
    let limits = TimeLimits::of(&settings, arguments.silence());
    let duration_ns = settings.duration_ns;
    let request =
        RunRequest { id, directory, command, tool_version: env!("CARGO_PKG_VERSION").into(), meter, settings, limits };
    let mut progress = Progress::new(arguments.output.quiet, arguments.output.json, duration_ns);
    let outcome = runner::run::run(target.as_mut(), &request, signals.requests(), &mut |event| progress.event(&event));
    signals.measuring_is_over();
    let outcome = outcome.inspect_err(|_| progress.clear())?;
    let run = Run::open(&outcome.directory)?;
    let explanations = explain_run(&run, &mut |done, total| progress.explaining(done, total));
    progress.clear();
    if let Err(error) = run.save_explanations(&explanations) {
        eprintln!("tardy: {}", printable(&error.to_string()));
    }
    let summary = RunSummary::of(&run, &explanations);
    // A run that was stopped and is sound has nothing broken about it; the summary says that it is short.
    let broken = outcome.problem.as_deref().filter(|_| outcome.state != RunState::Interrupted || !summary.valid);
    show(arguments.output.json, arguments.output.quiet, &summary, broken)?;
    if let Some(broken) = broken.filter(|text| !progress.has_told(text)) {
        eprintln!("tardy: {}", printable(broken));
    }
    Ok(exit_of(&summary))
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

/// Prints the result; what went wrong goes to standard error where no summary says it. `broken` is told elsewhere.
pub fn show(json: bool, quiet: bool, summary: &RunSummary, broken: Option<&str>) -> anyhow::Result<()> {
    let mut complaints = Vec::new();
    if json {
        json::print(summary)?;
        complaints = problems(summary);
    } else if quiet {
        let mut page = Page::for_stdout();
        page.line(&summary.archive);
        page.print()?;
        complaints = problems(summary);
    } else {
        summary_page(summary, broken, Page::for_stdout()).print()?;
    }
    for complaint in complaints {
        eprintln!("tardy: {}", printable(&complaint));
    }
    Ok(())
}

/// The code a run ends the command with.
pub fn exit_of(summary: &RunSummary) -> Exit {
    if !summary.valid {
        Exit::NotMeasured
    } else if summary.cpus.iter().any(|cpu| cpu.over_limit > 0) {
        Exit::LimitExceeded
    } else {
        Exit::Measured
    }
}

/// The machine under test, for the name of the archive.
pub fn host(target: &str) -> String {
    if target != local::NAME {
        return target.to_owned();
    }
    let read = fs::read_to_string("/proc/sys/kernel/hostname");
    read.map_or_else(|_| "unknown".into(), |name| name.trim().to_owned())
}
