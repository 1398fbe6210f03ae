//! `tardy audit`: finds what a real-time program does that will cost it a deadline.

mod arguments;
mod calls_page;
mod functions;
mod interception;
mod page;

pub use arguments::AuditArguments;

use crate::archives;
use crate::exit::{Exit, UsageError};
use crate::measuring::command::{self, preloading};
use crate::measuring::ending::measured;
use crate::measuring::machine;
use crate::measuring::request::new_request;
use crate::measuring::signals::Signals;
use crate::nothing_measured::NothingMeasured;
use crate::terminal::page::write_stdout;
use crate::terminal::progress::{Progress, View};
use crate::verb::{Group, Place, Verb};
use anyhow::Context;
use archive::audit::AuditDescription;
use archive::manifest::RunState;
use archive::message::{RunPhase, Severity};
use archive::reader::Run;
use arguments::{By, Format};
use audit::naming::{Names, NoNames};
use audit::read::{CpuPages, OWN_CALLS_BYTES, Recorded, read};
use audit::report::{AuditReport, judge};
use clap::Command;
use functions::Functions;
use interception::CallMemory;
use interchange::audits::Audited;
use machines::meter_places::MeterPlaces;
use machines::{KnownTarget, local};
use runner::event::Event;
use runner::run::CountedOutput;
use std::io::{self, Write};
use std::path::Path;
use words::printable::printable;

impl Verb for AuditArguments {
    const NAME: &'static str = "audit";
    const PLACE: Place = Place::Listed(Group::Understand);
    const EXAMPLES: &'static [&'static str] = &[
        "tardy audit --duration 10s -- ./robot --config arm.toml",
        "tardy audit --duration 10s --deny all --allow signal -- ./robot",
        "tardy audit --by interception --duration 10s -- ./robot",
        "tardy audit --by preload --duration 10s -- ./robot",
        "tardy audit --pid 4711 --duration 30s",
        "tardy audit --target board --unit robot --duration 30s",
        "tardy audit --archive latest --format sarif",
    ];
    const NOTES: &'static str = "\
It records every system call, page fault and signal of the program's threads and shows what a real-time loop must not do. \
The loop of a thread lasts from its first wait after --settle to its last wait; calls before and after do not count. A thread that \
calls or faults 1000 times a second without a wait is audited up to its end.
Exit codes: 0 no habit that --deny names, 1 such a habit, 2 wrong usage, 3 nothing could be audited.";

    fn run(&self, typed: Vec<String>) -> anyhow::Result<Exit> {
        run(self, typed)
    }

    fn defined(derived: Command) -> Command {
        arguments::own_help(derived)
    }
}

/// Runs the verb; `typed` is the command line.
fn run(arguments: &AuditArguments, typed: Vec<String>) -> anyhow::Result<Exit> {
    let run = match &arguments.archive {
        Some(name) => archives::open(name)?,
        None => record(arguments, typed)?,
    };
    let recording = Recording::open(&run.directory)?;
    if matches!(arguments.format(), Format::Calls) {
        write_stdout(calls_page::lay_out(&recording.description, &recording.recorded).as_bytes())?;
        return Ok(Exit::Measured);
    }
    let mut report = recording.judged(arguments, &run);
    report.findings.retain(|finding| !arguments.is_allowed(finding.rule));
    show(arguments, &report, &run)?;
    if let Some(why) = unusable(&report, &run) {
        complain!("tardy: {}", printable(&why));
        return Ok(Exit::NotMeasured);
    }
    let denied = report.findings.iter().any(|finding| arguments.is_denied(finding.rule));
    Ok(if denied { Exit::LimitExceeded } else { Exit::Measured })
}

/// Records the program; returns the archive.
fn record(arguments: &AuditArguments, typed: Vec<String>) -> anyhow::Result<Run> {
    let known = machine::find(&arguments.target)?;
    let mut settings = arguments.settings(&known)?;
    let memory = memory(arguments, &known)?;
    if let Some(audit) = &mut settings.audit {
        audit.interception = memory.as_ref().map(CallMemory::path);
    }
    let environment = memory.as_ref().map_or_else(Vec::new, CallMemory::environment);
    let output = &arguments.output;
    let silent = !matches!(arguments.format(), Format::Text) || output.quiet;
    let meter = MeterPlaces::of_process().find()?;
    let counted = CountedOutput::new(&[]);
    let signals = Signals::watch()?;
    let mut target = machine::open(&known, &meter, &signals)?;
    // The output of the program would corrupt a document on standard output.
    let mut started = match &mut settings.watch {
        Some(watch) => command::prepare(&known, target.as_mut(), watch, &meter, &environment, silent, &counted)?,
        None => None,
    };
    let request = new_request(&known, output, typed, meter, settings)?;
    // A redrawn block and the output of a program cannot share a terminal.
    let view = match (&started, output.view()) {
        (Some(_), _) => View::Nothing,
        (None, view) => view,
    };
    let mut progress = Progress::new(view, &request.settings);
    let outcome = runner::run::run(target.as_mut(), &request, signals.requests(), &mut |event| {
        match &event {
            Event::Said { line } => progress.aside(|| _ = writeln!(io::stderr(), "{}", printable(line))),
            Event::Phase(RunPhase::Collect) => started.iter_mut().for_each(command::Started::notice_end),
            _ => {}
        }
        progress.event(&event);
    });
    let asked_to_end = command::asked_to_end(&signals, &outcome);
    if let Some(how) = started.as_mut().map(command::Started::end).filter(|how| !how.is_success())
        && started.as_ref().and_then(|command| command.own_failure(asked_to_end)).is_some()
    {
        complain!("tardy: the command {how}");
    }
    let (outcome, run) = measured(outcome, &signals, &mut progress)?;
    progress.clear();
    let reason = run.problems.iter().find(|problem| problem.severity == Severity::Invalid);
    // A meter that was killed, or a full disk: the description comes last.
    let failure = outcome.problem.as_ref().filter(|_| outcome.state == RunState::Failed);
    if let Some(problem) = reason.or(failure) {
        let kept = format!("; the recording is in {}", outcome.directory.display());
        return Err(NothingMeasured { problem: problem.clone(), kept, command: None }.into());
    }
    Ok(run)
}

/// The memory for a program that records its own calls; `None` if the kernel records them.
///
/// # Errors
/// [`UsageError`], and if the library is missing.
fn memory(arguments: &AuditArguments, target: &KnownTarget) -> anyhow::Result<Option<CallMemory>> {
    if arguments.by == By::Trace {
        return match arguments.inject.is_empty() {
            true => Ok(None),
            false => Err(UsageError("--inject needs the library in the program; add --by interception".into()).into()),
        };
    }
    arguments.check_interception(target)?;
    if let Some(obstacle) = arguments.program().and_then(preloading::obstacle) {
        let why = printable(&obstacle.to_string());
        if !arguments.inject.is_empty() {
            return Err(UsageError(format!("{why}, so nothing can be injected; {}", obstacle.fix())).into());
        }
        // Trace events cannot stand in: nothing else sees a call that does not enter the kernel.
        if arguments.by == By::Preload {
            let fix = obstacle.fix();
            return Err(UsageError(format!(
                "{why}, so its library calls cannot be recorded; {fix}, or leave out --by preload"
            ))
            .into());
        }
        complain!("tardy: {why}; trace events record its calls instead");
        return Ok(None);
    }
    CallMemory::create(&arguments.inject, arguments.function_calls()).map(Some)
}

/// The audit in an archive.
struct Recording {
    description: AuditDescription,
    recorded: Recorded,
}

impl Recording {
    /// Reads it piece by piece: a program that does much fills hundreds of megabytes.
    fn open(archive: &Path) -> anyhow::Result<Self> {
        let place = || format!("failed to read an audit in {}; `tardy audit` makes one", archive.display());
        let description = archive::audit::description(archive).with_context(place)?;
        let pages = archive::audit::pages(archive, &description).with_context(place)?;
        let calls = archive::audit::calls(archive, &description, OWN_CALLS_BYTES).with_context(place)?;
        let cpus = pages.into_iter().map(|(cpu, pieces)| CpuPages { cpu, pieces: Box::new(pieces) });
        let recorded = read(&description, cpus, calls.into_iter().flatten());
        Ok(Self { description, recorded })
    }

    fn judged(&self, arguments: &AuditArguments, run: &Run) -> AuditReport {
        let (mut functions, mut none) = (Functions::default(), NoNames);
        // The files of another machine are not here; one of the same name may be another version.
        let here = run.manifest.as_ref().is_some_and(|manifest| manifest.target == local::NAME);
        let names: &mut dyn Names = if here { &mut functions } else { &mut none };
        judge(&self.description, &self.recorded, arguments.scope(), arguments.settle_ns(), names)
    }
}

/// Why nothing can be said about the program.
fn unusable(report: &AuditReport, run: &Run) -> Option<String> {
    if run.ending.is_none() {
        return Some("the recording has no end, so habits may be missing".into());
    }
    if report.interception.as_ref().is_some_and(|interception| interception.processes == 0) {
        let what = "the program did not load the library that records its calls; audit it with --by trace";
        return Some(what.into());
    }
    let library = report.interception.as_ref().and_then(|interception| interception.of_library.as_ref());
    if library.is_some_and(|library| !library.all_threads) && report.without_real_time {
        let what =
            "no thread had a real-time policy, so allocations, frees and locks were not recorded; add --all-threads";
        return Some(what.into());
    }
    if report.threads.iter().all(|thread| thread.cycles.is_none()) {
        let what = "no thread waited twice after it had settled, so no loop was audited; audit it for longer, or lower --settle; if it polls, `tardy run --method noise` measures what takes its CPU";
        return Some(what.into());
    }
    None
}

fn show(arguments: &AuditArguments, report: &AuditReport, run: &Run) -> anyhow::Result<()> {
    match arguments.format() {
        Format::Document(format) => {
            let (whom, denied) = (arguments.whom(), |rule: &str| arguments.is_denied(rule));
            write_stdout(&format.document(&Audited { report, whom: &whom, denied: &denied })?)?;
        }
        Format::Calls => {}
        Format::Text if arguments.output.quiet => {}
        Format::Text => {
            page::lay_out(report, &arguments.whom(), arguments.settle_ns(), &|rule| arguments.is_denied(rule), run)
                .print()?
        }
    }
    Ok(())
}
