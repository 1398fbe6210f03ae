//! The last steps of every verb that makes one run: explain, store the explanations in the archive's directory,
//! summarise.

use super::arguments::Showing;
use crate::exit::Exit;
use crate::measuring::roles::RolesEnded;
use crate::measuring::signals::Signals;
use crate::nothing_measured::{NothingMeasured, with_fix};
use crate::refusal::NothingWoke;
use crate::terminal::answer::{Answer, Next};
use crate::terminal::json;
use crate::terminal::page::Page;
use crate::terminal::progress::Progress;
use crate::terminal::summary::{next_commands, summary_page};
use account::{Account, ExplanationSource};
use archive::manifest::RunState;
use archive::message::{Problem, RunPhase, Severity};
use archive::problem::Remark;
use archive::reader::Run;
use archive::summary::RunSummary;
use report::account::problems;
use runner::run::{CONSOLE_FILE, RECEIVED_FILE, RunError, RunOutcome};
use std::fs;
use words::printable::printable;
use words::shell::quoted;

/// Explains and shows the result of a run, and returns how the command ends.
///
/// # Errors
/// If there is no archive, or standard output cannot be written.
pub fn conclude(
    outcome: Result<RunOutcome, RunError>,
    signals: &Signals,
    progress: &mut Progress,
    showing: Showing,
) -> anyhow::Result<Exit> {
    let (outcome, run) = measured(outcome, signals, progress)?;
    if watched_nothing(&run) {
        progress.clear();
        return Err(discarded(&outcome, Problem::new(Severity::Invalid, &NothingWoke)).into());
    }
    let account = Account::of(run, ExplanationSource::Traces);
    account.explain(&mut |done, total| progress.explaining(done, total));
    progress.clear();
    if let Err(error) = account.save_explanations() {
        complain!("tardy: {}", printable(&error.to_string()));
    }
    // A stopped run that is sound is not broken; the summary says that it is short.
    let valid = account.summary().valid;
    let broken = outcome.problem.as_ref().filter(|_| outcome.state != RunState::Interrupted || !valid);
    show(showing, &account, broken)?;
    if let Some(broken) = broken {
        complain!("tardy: {}", printable(&with_fix(broken)));
    }
    Ok(exit_of(account.summary()))
}

/// The same for both machines of a measurement whose stimuli one of them gives. The summary is that of the target, with the
/// figures of the other machine.
///
/// # Errors
/// As [`conclude`].
pub fn conclude_roles(
    ended: RolesEnded,
    signals: &Signals,
    progress: &mut Progress,
    showing: Showing,
) -> anyhow::Result<Exit> {
    signals.measuring_is_over();
    let (target, stimulus) = ended.measured().inspect_err(|_| progress.clear())?;
    let Some(stimulus) = stimulus else { return conclude(Ok(target), signals, progress, showing) };
    let run = Run::open(&stimulus.directory)?;
    if let Some(problem) = unmeasured(&stimulus, &run) {
        progress.clear();
        // What the target has is no measurement either.
        return Err(discarded(&target, problem).into());
    }
    let summary = RunSummary::of(&run, &[]);
    let exit = conclude(Ok(target), signals, progress, showing)?;
    if !summary.valid {
        let machine = printable(&summary.target);
        complain!("tardy: the stimulus machine ({machine}): {}", printable(&Remark::joined(&summary.invalid_because)));
        return Ok(Exit::NotMeasured);
    }
    Ok(exit)
}

/// Opens the archive of a run that has just ended.
///
/// # Errors
/// If there is no archive, or nothing was measured.
pub fn measured(
    outcome: Result<RunOutcome, RunError>,
    signals: &Signals,
    progress: &mut Progress,
) -> anyhow::Result<(RunOutcome, Run)> {
    signals.measuring_is_over();
    let outcome = outcome.inspect_err(|_| progress.clear())?;
    let run = Run::open(&outcome.directory)?;
    match discard_unmeasured(&outcome, &run) {
        Some(nothing) => {
            progress.clear();
            Err(nothing.into())
        }
        None => Ok((outcome, run)),
    }
}

/// Removes the archive of a run that ended before it measured: it holds no measurement, and would be the latest run.
/// The console output of a machine is kept.
fn discard_unmeasured(outcome: &RunOutcome, run: &Run) -> Option<NothingMeasured> {
    unmeasured(outcome, run).map(|reason| discarded(outcome, reason))
}

/// Why a run ended before it measured.
fn unmeasured(outcome: &RunOutcome, run: &Run) -> Option<Problem> {
    let began = run.phases.iter().any(|(phase, _)| *phase == RunPhase::Measure);
    let measured = began || run.threads.values().any(|thread| thread.totals.cycles > 0);
    let (Some(problem), false) = (&outcome.problem, measured) else { return None };
    let is_over = matches!(outcome.state, RunState::Failed | RunState::Interrupted);
    if !is_over || outcome.directory.join(RECEIVED_FILE).exists() {
        return None;
    }
    // The reason is more useful than the fact that it ended the meter.
    let reason = run.problems.iter().find(|problem| problem.severity == Severity::Invalid);
    Some(reason.filter(|_| outcome.state == RunState::Failed).unwrap_or(problem).clone())
}

/// Whether the program ended before one of its threads had woken up.
fn watched_nothing(run: &Run) -> bool {
    let settings = run.manifest.as_ref().and_then(|manifest| manifest.settings.as_ref());
    settings.is_some_and(|settings| settings.watch.is_some()) && run.threads.is_empty() && run.spikes.is_empty()
}

fn discarded(outcome: &RunOutcome, problem: Problem) -> NothingMeasured {
    let directory = &outcome.directory;
    let console = directory.join(CONSOLE_FILE);
    let kept = directory.with_extension("console.log");
    let kept = match fs::rename(&console, &kept) {
        Ok(()) => format!("; its console output is in {}", kept.display()),
        Err(_) => String::new(),
    };
    if let Err(error) = fs::remove_dir_all(directory) {
        complain!("tardy: failed to remove {}: {error}", printable(&directory.display().to_string()));
    }
    NothingMeasured { problem, kept, command: None }
}

/// Prints the result; problems that the summary does not show go to standard error. `shown`: how the run failed, which
/// is shown elsewhere.
fn show(showing: Showing, account: &Account, shown: Option<&Problem>) -> anyhow::Result<()> {
    let summary = &RunSummary { storage: account.block_requests().cloned(), ..account.explained_summary() };
    let mut complaints = Vec::new();
    if showing.json {
        json::print(summary)?;
        complaints = problems(summary);
    } else if showing.quiet {
        let mut page = Page::for_stdout();
        page.line(&summary.archive);
        page.print()?;
        complaints = problems(summary);
    } else if showing.more {
        summary_page(summary, shown, Page::for_stdout()).print()?;
    } else {
        let commands = next_commands(summary);
        let next = match commands.is_empty() {
            true => Next::Nothing(format!("The archive is {}.", quoted(&summary.archive))),
            false => Next::Commands(commands),
        };
        Answer { account, summary, shown, next }.lay_out(Page::for_stdout()).print()?;
    }
    for complaint in complaints {
        complain!("tardy: {}", printable(&complaint));
    }
    Ok(())
}

/// The exit code for a run.
pub fn exit_of(summary: &RunSummary) -> Exit {
    if !summary.valid {
        Exit::NotMeasured
    } else if summary.deciding().any(|cpu| cpu.over_limit > 0) {
        Exit::LimitExceeded
    } else {
        Exit::Measured
    }
}
