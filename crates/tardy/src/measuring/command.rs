//! A command that is started in order to be measured: found on this machine, sent to a virtual one, or held back here.

mod executable;
pub mod preloading;
mod reading;
mod started;

pub use started::{Environment, Started};

use super::signals::Signals;
use crate::exit::{ProgramError, UsageError};
use archive::reader::Run;
use archive::summary::RunSummary;
use archive::watched::WatchSettings;
use executable::Executable;
use machines::{KnownTarget, Target};
use runner::run::{CountedOutput, RunError, RunOutcome};
use std::env;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Help of --json and --quiet where the output of a command needs another place.
pub const JSON_HELP: &str = "Print the summary as one JSON document; what the command prints goes to standard error";
pub const QUIET_HELP: &str = "Print only the path of the archive; what the command prints goes to standard error";

/// Letters of a thread's name that the kernel keeps.
const NAME_LETTERS_MAX: usize = 15;

/// Whether the command of a run was asked to end: the user stopped the run, or it lasted as long as it was to.
pub fn asked_to_end(signals: &Signals, outcome: &Result<RunOutcome, RunError>) -> bool {
    signals.requests().count() > 0 || outcome.as_ref().is_ok_and(lasted_as_long_as_asked)
}

fn lasted_as_long_as_asked(outcome: &RunOutcome) -> bool {
    let Ok(run) = Run::open(&outcome.directory) else { return false };
    let summary = RunSummary::of(&run, &[]);
    let asked_ns = summary.settings.and_then(|settings| i64::try_from(settings.duration_ns?).ok());
    asked_ns.zip(summary.measured_ns).is_some_and(|(asked_ns, measured_ns)| measured_ns >= asked_ns)
}

/// Checks, before anything is started, that what was asked for can exist: a name that a thread can have, and on this machine
/// the process; and the program of a command, except on a board, which has its own.
///
/// # Errors
/// [`UsageError`] and [`ProgramError`].
pub fn check(target: &KnownTarget, pid: Option<i32>, comm: Option<&str>, command: &[String]) -> anyhow::Result<()> {
    if comm.is_some_and(|name| name.bytes().filter(|letter| *letter != b'*').count() > NAME_LETTERS_MAX) {
        let text =
            "the kernel keeps 15 letters of a thread's name; write the first ones and a *, like 'ros2_control_n*'";
        return Err(UsageError(text.into()).into());
    }
    if let Some(pid) = pid.filter(|pid| target.is_local() && !Path::new(&format!("/proc/{pid}")).exists()) {
        return Err(UsageError(format!("there is no process {pid}; `ps -e` lists the processes")).into());
    }
    match command.first().filter(|_| !target.is_board()) {
        Some(program) => Ok(find(program)?),
        None => Ok(()),
    }
}

fn places(program: &str) -> Vec<PathBuf> {
    match program.contains('/') {
        true => vec![program.into()],
        false => env::var_os("PATH").iter().flat_map(env::split_paths).map(|folder| folder.join(program)).collect(),
    }
}

/// Looks for a program on this machine, as a shell does.
///
/// # Errors
/// [`ProgramError`].
fn find(program: &str) -> Result<(), ProgramError> {
    let is_file = |path: &Path| path.metadata().is_ok_and(|file| file.is_file());
    let runs = |path: &Path| path.metadata().is_ok_and(|file| file.permissions().mode() & 0o111 != 0);
    let places = places(program);
    let files: Vec<&PathBuf> = places.iter().filter(|path| is_file(path)).collect();
    match files.iter().any(|path| runs(path)) {
        true => Ok(()),
        false if files.is_empty() => Err(ProgramError::Missing(program.into())),
        false => Err(ProgramError::NotExecutable(program.into())),
    }
}

/// Starts a command held back on this machine, or sends its program to a virtual machine, where the meter starts it. A
/// board has its own programs.
///
/// # Errors
/// If the program cannot run there, or the meter cannot be started.
pub fn prepare(
    known: &KnownTarget,
    target: &mut dyn Target,
    watch: &mut WatchSettings,
    meter: &Path,
    environment: &Environment,
    aside: bool,
    counted: &CountedOutput,
) -> anyhow::Result<Option<Started>> {
    let [program, ..] = watch.command.as_slice() else { return Ok(None) };
    if known.is_local() {
        let started = Started::waiting(meter, &watch.command, environment, aside, counted)?;
        (watch.pid, watch.ours) = (Some(started.pid()), true);
        return Ok(Some(started));
    }
    if known.is_board() {
        return Ok(None);
    }
    // A virtual machine has no files except those sent to it, and mounts its own file systems over some directories.
    let path = fs::canonicalize(program)?;
    if let Some(interpreter) = Executable::read(&path)?.interpreter() {
        let text = format!(
            "{} needs {interpreter}, and the virtual machine {} has no files but those it is sent; link the program \
             statically (gcc -static, or a musl target in Rust)",
            path.display(),
            known.name()
        );
        return Err(UsageError(text).into());
    }
    let there = Path::new("/").join(path.file_name().unwrap_or_default());
    target.send_file(&path, &there)?;
    watch.command[0] = there.display().to_string();
    Ok(None)
}
