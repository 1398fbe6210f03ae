//! Performs one run: takes a target through its phases and leaves an archive behind in any case.

mod counted_output;
mod ending;
mod limits;
mod meter_requests;
mod programs;
mod received;
mod session;

pub use counted_output::CountedOutput;
pub use limits::{TimeLimits, phase_title};
pub use meter_requests::MeterRequests;
pub use received::RECEIVED_FILE;

use crate::event::Event;
use crate::problem::RunProblem;
use crate::restore::{RestoreError, restore};
use crate::roles::Part;
use crate::roles::problem::RoleProblem;
use crate::stimulus::problem::StimulusProblem;
use crate::stimulus::{Board, connect};
use archive::budget::Budget;
use archive::manifest::{Manifest, RunState};
use archive::message::{Message, Problem, RunPhase, Severity};
use archive::planned::PlannedStep;
use archive::reader::{ArchiveState, Run};
use archive::roles::RoleFigures;
use archive::settings::RunSettings;
use archive::write_error::WriteError;
use archive::writer::{RunWriter, give_up};
use ending::Facts;
use machines::stop::StopRequests;
use machines::{Caveat, Command, Target, TargetError};
use received::Received;
use session::{RunClock, Session};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use thiserror::Error;

/// File of the archive with the target's console output.
pub const CONSOLE_FILE: &str = "console.log";

/// Longest run whose traces may be stored after the measurement: ten minutes.
const STORED_AFTERWARDS_NS_MAX: u64 = 600_000_000_000;

/// Most seconds of virtual time in a second of the host.
const VIRTUAL_PACE_MAX: u32 = 1000;

/// A run: its settings, and where it is stored.
#[derive(Debug, Clone)]
pub struct RunRequest {
    pub id: String,
    /// Directory of the archive; must be empty or absent.
    pub directory: PathBuf,
    /// The command line as typed, for the manifest.
    pub command: Vec<String>,
    pub tool_version: String,
    /// Path of the meter on the target.
    pub meter: PathBuf,
    pub settings: RunSettings,
    pub limits: TimeLimits,
}

/// A run with an archive.
#[derive(Debug, Clone, PartialEq)]
pub struct RunOutcome {
    pub directory: PathBuf,
    pub state: RunState,
    /// The problem that failed it or ended it early.
    pub problem: Option<Problem>,
}

/// Why there is no archive.
#[derive(Debug, Error)]
pub enum RunError {
    #[error(transparent)]
    Target(#[from] TargetError),
    #[error(transparent)]
    Write(#[from] WriteError),
    /// Another machine of the same measurement failed.
    #[error(transparent)]
    Role(#[from] RoleProblem),
}

/// Runs one measurement and archives it. Events are passed to `watch` as they happen, from this thread.
///
/// # Errors
/// Only before the archive exists, or if its last manifest cannot be written. A measurement that fails later is an
/// [`RunOutcome`] with [`RunState::Failed`].
pub fn run(
    target: &mut dyn Target,
    request: &RunRequest,
    stop: &StopRequests,
    watch: &mut dyn FnMut(Event),
) -> Result<RunOutcome, RunError> {
    run_with(target, request, Extras::default(), stop, watch)
}

/// Runs one watch; also archives what the host counts in the output of a command that it started, and asks the meter for more
/// while it goes on.
///
/// # Errors
/// As [`run`].
pub fn run_watching(
    target: &mut dyn Target,
    request: &RunRequest,
    (counted, requests): (&CountedOutput, &MeterRequests),
    stop: &StopRequests,
    watch: &mut dyn FnMut(Event),
) -> Result<RunOutcome, RunError> {
    run_with(
        target,
        request,
        Extras { counted: Some(counted), requests: Some(requests), ..Extras::default() },
        stop,
        watch,
    )
}

/// Runs one measurement of a guard, which asks for more while it goes on.
///
/// # Errors
/// As [`run`].
pub fn run_guarding(
    target: &mut dyn Target,
    request: &RunRequest,
    requests: &MeterRequests,
    stop: &StopRequests,
    watch: &mut dyn FnMut(Event),
) -> Result<RunOutcome, RunError> {
    run_with(target, request, Extras { requests: Some(requests), ..Extras::default() }, stop, watch)
}

/// Runs one measurement as the step of a plan, which is archived with it.
///
/// # Errors
/// As [`run`].
pub fn run_step(
    target: &mut dyn Target,
    request: &RunRequest,
    planned: Option<&PlannedStep>,
    stop: &StopRequests,
    watch: &mut dyn FnMut(Event),
) -> Result<RunOutcome, RunError> {
    run_with(target, request, Extras { planned, ..Extras::default() }, stop, watch)
}

/// Runs one machine of a measurement that has several, in step with the others; their runs are in other threads.
///
/// # Errors
/// As [`run`], and if another machine failed before this one started.
pub fn run_in_role(
    target: &mut dyn Target,
    request: &RunRequest,
    planned: Option<&PlannedStep>,
    part: &Part,
    stop: &StopRequests,
    watch: &mut dyn FnMut(Event),
) -> Result<RunOutcome, RunError> {
    let outcome = run_with(target, request, Extras { planned, part: Some(part), ..Extras::default() }, stop, watch);
    outcome.inspect_err(|error| part.has_failed(error.to_string()))
}

/// Data that the host adds to the meter's, and the run's part among others.
#[derive(Clone, Copy, Default)]
struct Extras<'a> {
    planned: Option<&'a PlannedStep>,
    counted: Option<&'a CountedOutput>,
    part: Option<&'a Part>,
    requests: Option<&'a MeterRequests>,
}

/// Sources that the host follows beside the meter.
struct Beside<'a> {
    counted: Option<&'a CountedOutput>,
    board: Option<Board>,
    part: Option<&'a Part>,
    requests: Option<&'a MeterRequests>,
}

fn run_with(
    target: &mut dyn Target,
    request: &RunRequest,
    extras: Extras<'_>,
    stop: &StopRequests,
    watch: &mut dyn FnMut(Event),
) -> Result<RunOutcome, RunError> {
    archived(target, request, extras, stop, watch).inspect_err(|_| {
        // A directory without an archive would look like a run. One with anything in it stays.
        let _ = std::fs::remove_dir(&request.directory);
    })
}

fn archived(
    target: &mut dyn Target,
    request: &RunRequest,
    Extras { planned, counted, part, requests }: Extras<'_>,
    stop: &StopRequests,
    watch: &mut dyn FnMut(Event),
) -> Result<RunOutcome, RunError> {
    watch(Event::Phase(RunPhase::Check));
    target.prepare()?;
    if let Some(Err(problem)) = part.map(|part| part.wait_for_its_turn(stop)) {
        if let Err(error) = target.close() {
            watch(Event::NotGivenBack(Problem::new(Severity::Notice, &error)));
        }
        return Err(problem.into());
    }
    let caveat = target.caveat();
    let emulated = caveat.is_some_and(Caveat::is_emulated);
    let virtual_time = caveat.is_some_and(Caveat::is_virtual_time);
    let ingredients = target.ingredients();
    let manifest = Manifest { emulated, virtual_time, ingredients, ..manifest(target.name(), request) };
    let mut writer = RunWriter::create(&request.directory, manifest)?;
    watch(Event::Begun { directory: request.directory.clone(), virtual_time });
    if let Some(planned) = planned {
        writer.append(&Message::Planned(Box::new(planned.clone())))?;
    }
    if let Some(caveat) = caveat {
        // The limits of a plan are judged afterwards, with the doubts it accepts.
        let limit_ns = request.settings.limit_ns.filter(|_| planned.is_none());
        report(problem_of(caveat, limit_ns), &mut writer, watch)?;
    }
    let mut received = None;
    if target.keeps_output() {
        received = Some(Received::create(&request.directory)?);
    }
    // Before anything happens on the target: without its stimuli there is nothing to measure.
    let board = request.settings.stimulus.as_ref().map(|asked| connect(asked, request.settings.interval_ns, stop));
    let beside = match board.transpose() {
        Ok(board) => Ok(Beside { counted, board, part, requests }),
        Err(problem) => Err(Problem::new(Severity::Invalid, &problem)),
    };
    let measured = match beside {
        Ok(beside) => measure(target, request, stop, &mut writer, (received.as_mut(), beside), watch),
        Err(problem) => {
            let stop_requests = usize::from(stop.count() > 0);
            Ok(Facts { start_failure: Some(problem), stop_requests, ..Facts::default() })
        }
    };
    let facts = match measured {
        Ok(facts) => facts,
        Err(error) => {
            let stopped = matches!(error, TargetError::Stopped { .. });
            // Nothing was started there, so there is nothing to fetch.
            received.take().into_iter().for_each(Received::remove);
            Facts {
                start_failure: Some(Problem::new(Severity::Invalid, &error)),
                stop_requests: usize::from(stopped),
                ..Facts::default()
            }
        }
    };
    finish(target, request, (&facts, part), received, writer, watch)
}

/// Fetches the rest of a run that continued without its connection, into its archive.
///
/// # Errors
/// Before the archive is changed, if the target is not available. If the target no longer has the run, the run has
/// failed, and its archive states so. Afterwards as [`run`].
pub fn collect(
    target: &mut dyn Target,
    request: &RunRequest,
    stop: &StopRequests,
    watch: &mut dyn FnMut(Event),
) -> Result<RunOutcome, RunError> {
    let (mut received, before) = Received::again(&request.directory)?;
    if let Err(error) = target.prepare() {
        if let TargetError::Gone { target, .. } = &error {
            let kind = RunProblem::NothingKept { machine: target.clone() };
            give_up(&request.directory, Problem::new(Severity::Invalid, &kind), unix_ns())?;
            received.remove();
        }
        return Err(error.into());
    }
    let command = target.resume(&request.id, received.bytes())?;
    let left = left_board(request);
    let mut writer = RunWriter::begin_again(&request.directory)?;
    if let Some(problem) = left {
        report(problem, &mut writer, watch)?;
    }
    let kind = RunProblem::FetchedLater { bytes: received.bytes() };
    report(Problem::new(Severity::Notice, &kind), &mut writer, watch)?;
    watch(Event::Begun { directory: request.directory.clone(), virtual_time: false });
    let limits = limits_on(target, request);
    let budget = Budget::of(&request.settings);
    let clock = RunClock { before: age_of(&request.directory), pace: pace_of(target) };
    let session = Session::new(command, budget, &mut writer, &limits, stop, watch).timed_by(clock);
    let facts = session.resuming(&before).keeping(Some(&mut received)).follow();
    finish(target, request, (&facts, None), Some(received), writer, watch)
}

/// The state of the stimulus board of a run that continues without its host; reported once.
fn left_board(request: &RunRequest) -> Option<Problem> {
    request.settings.stimulus.as_ref()?;
    let run = Run::open(&request.directory).ok()?;
    let answers = run.stimulus_board.as_ref().map_or(0, |board| board.answers);
    let ended = run.stimulus_board.is_some_and(|board| board.complete);
    let problem = Problem::new(Severity::Degraded, &StimulusProblem::NotResumed { answers });
    let known = run.problems.iter().any(|known| known.code == problem.code);
    (!ended && !known).then_some(problem)
}

/// Ends the archive of a run, and releases the target.
fn finish(
    target: &mut dyn Target,
    request: &RunRequest,
    (facts, part): (&Facts, Option<&Part>),
    received: Option<Received>,
    mut writer: RunWriter,
    watch: &mut dyn FnMut(Event),
) -> Result<RunOutcome, RunError> {
    if facts.left_unrestored() && !target.forgets() {
        put_back(target, request, watch);
    }
    let console = target.console();
    if !console.is_empty()
        && let Err(error) = writer.put(CONSOLE_FILE, &console)
    {
        let problem = Problem::new(Severity::Notice, &RunProblem::ConsoleNotWritten { why: error.to_string() });
        // If that could not be stored, this may fail, too; the manifest has space reserved for it.
        let _ = report(problem, &mut writer, watch);
    }
    if request.settings.watch.as_ref().is_some_and(|watch| watch.stacks) && !facts.left_behind {
        fetch_programs(target, &mut writer, watch);
    }
    let (mut state, mut problem) = ending::state_of(facts);
    if let Some(part) = part {
        let figures = figures_of(target.name(), request, part, (state, problem.as_ref()), &writer);
        let others = part.exchange(figures);
        for other in &others {
            // If the archive cannot be written, its state says so.
            let _ = writer.append(&Message::Role(Box::new(other.clone())));
        }
        if let Some(early) = ending::early_end(facts, state, &others, part.failure_of_another()) {
            (state, problem) = (RunState::Interrupted, Some(Problem::new(Severity::Notice, &early)));
        }
    }
    let directory = writer.finish(state, problem.clone(), unix_ns())?;
    if let Some(received) = received.filter(|_| !facts.left_behind && facts.storage_failure.is_none()) {
        target.release_output();
        received.remove();
    }
    watch(Event::Archived { directory: directory.clone(), state });
    // The archive is complete; a target that cannot be released is a separate problem.
    if let Err(error) = target.close() {
        watch(Event::NotGivenBack(Problem::new(Severity::Notice, &error)));
    }
    Ok(RunOutcome { directory, state, problem })
}

/// Fetches what names the functions in stacks, if this machine lacks it. Without it the archive is complete all the same.
fn fetch_programs(target: &mut dyn Target, writer: &mut RunWriter, watch: &mut dyn FnMut(Event)) {
    if target.is_this_machine() {
        return;
    }
    let fetched = programs::fetch(target, writer.directory());
    if let Some(such_as) = fetched.missing.first().cloned() {
        let missing = fetched.missing.len();
        let kind = RunProblem::ProgramsNotFetched { missing, all: missing + fetched.files, such_as };
        // If that could not be stored, the manifest has space reserved for the end of the run.
        let _ = report(Problem::new(Severity::Notice, &kind), writer, watch);
    }
}

/// The samples of the run, for the runs of the other machines.
fn figures_of(
    target: &str,
    request: &RunRequest,
    part: &Part,
    (state, problem): (RunState, Option<&Problem>),
    writer: &RunWriter,
) -> RoleFigures {
    let run = Run::open_without_seconds(writer.directory()).unwrap_or_default();
    let ending = problem.map(|problem| problem.text.clone());
    let figures = run.role_figures(part.role(), target, request.settings.method.clone());
    RoleFigures { state, ending, ..figures }
}

/// Stores and reports a problem that the host found.
fn report(problem: Problem, writer: &mut RunWriter, watch: &mut dyn FnMut(Event)) -> Result<(), WriteError> {
    writer.append(&Message::Problem(problem.clone()))?;
    watch(Event::Problem(problem));
    Ok(())
}

/// The effect of a caveat of the target on this run: a run with a limit is invalid where limits cannot be judged.
fn problem_of(caveat: Caveat, limit_ns: Option<i64>) -> Problem {
    if caveat.is_emulated() && !caveat.is_virtual_time() && limit_ns.is_some() {
        return Problem::new(Severity::Invalid, &RunProblem::LimitNotJudged(caveat));
    }
    Problem::new(Severity::Degraded, &caveat)
}

fn measure(
    target: &mut dyn Target,
    request: &RunRequest,
    stop: &StopRequests,
    writer: &mut RunWriter,
    (received, beside): (Option<&mut Received>, Beside<'_>),
    watch: &mut dyn FnMut(Event),
) -> Result<Facts, TargetError> {
    let meter = Command { program: request.meter.clone(), arguments: vec!["measure".into()] };
    let mut line = serde_json::to_string(&request.settings).expect("settings have only string keys");
    line.push('\n');
    let started = target.start_lasting(&meter, line.as_bytes(), &request.id);
    for notice in target.notices() {
        // If the disk is full, the next frame of the meter shows it.
        let _ = report(notice, writer, watch);
    }
    let command = started?;
    let limits = limits_on(target, request);
    let clock = RunClock { pace: pace_of(target), ..RunClock::default() };
    Ok(Session::new(command, Budget::of(&request.settings), writer, &limits, stop, watch)
        .timed_by(clock)
        .storing_afterwards(target.is_this_machine() && is_short(&request.settings))
        .keeping(received)
        .counting(beside.counted)
        .stimulated_by(beside.board, request.settings.duration_ns.map(Duration::from_nanos))
        .in_step(beside.part)
        .asked_by(beside.requests)
        .follow())
}

/// Storing disturbs a measurement on the same machine. A longer one would lose too much if the host were killed, and a guard
/// accounts for each late wake-up at once.
fn is_short(settings: &RunSettings) -> bool {
    let guards = settings.watch.as_ref().is_some_and(|watch| watch.guard.is_some());
    settings.duration_ns.is_some_and(|ns| ns <= STORED_AFTERWARDS_NS_MAX) && !guards
}

fn limits_on(target: &dyn Target, request: &RunRequest) -> TimeLimits {
    let limits = request.limits.stretched(target.slowdown());
    if target.keeps_output() { limits.behind_a_line() } else { limits }
}

/// In virtual time an idle machine skips to its next timer.
fn pace_of(target: &dyn Target) -> u32 {
    if target.caveat().is_some_and(Caveat::is_virtual_time) { VIRTUAL_PACE_MAX } else { 1 }
}

/// Time since the start of the run in an archive.
fn age_of(directory: &Path) -> Duration {
    let manifest = ArchiveState::of(directory).ok().and_then(|state| state.manifest);
    let age_ns = manifest.map_or(0, |manifest| unix_ns().saturating_sub(manifest.started_unix_ns));
    Duration::from_nanos(age_ns.max(0) as u64)
}

fn put_back(target: &mut dyn Target, request: &RunRequest, watch: &mut dyn FnMut(Event)) {
    let restored = restore(target, &request.meter, request.limits.restore);
    let problem = match restored {
        Ok(lines) => return watch(Event::Restored { lines }),
        Err(RestoreError::Incomplete { lines, exit }) => {
            watch(Event::Restored { lines });
            RunProblem::NotPutBack { exit }
        }
        Err(error) => RunProblem::RestoreUnanswered { why: error.to_string() },
    };
    watch(Event::Problem(Problem::new(Severity::Degraded, &problem)));
}

fn manifest(target: &str, request: &RunRequest) -> Manifest {
    Manifest {
        command: request.command.clone(),
        started_unix_ns: unix_ns(),
        settings: Some(request.settings.clone()),
        ..Manifest::new(request.id.clone(), request.tool_version.clone(), target)
    }
}

fn unix_ns() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests;
