//! `tardy-meter start COMMAND ...`: becomes a command, but only when it is released.
//!
//! It stops itself before the command starts, so that a watch can be armed for its very first instant. The command
//! inherits its process number, files and terminal.

use super::targets;
use crate::problem::MeterProblem;
use archive::watched::WatchSettings;
use rustix::process::{Pid, Signal, getpid, kill_process};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Time limit for a started command to stop itself.
const STOP_TIME: Duration = Duration::from_secs(5);

/// Runs the subcommand. Returns the exit code if the command cannot be run, like a shell.
pub fn become_command(words: &[String]) -> i32 {
    let Some((program, arguments)) = words.split_first() else {
        eprintln!("tardy-meter: start needs a command");
        return 2;
    };
    if let Err(error) = kill_process(getpid(), Signal::STOP) {
        eprintln!("tardy-meter: failed to wait for the watch: {error}");
        return 126;
    }
    let error = Command::new(program).args(arguments).exec();
    eprintln!("tardy-meter: failed to run {program}: {error}");
    if error.kind() == std::io::ErrorKind::NotFound { 127 } else { 126 }
}

/// A command that is stopped until its watch is armed. It ends with the watch.
#[derive(Debug, Default)]
pub struct HeldCommand {
    pid: Option<i32>,
    /// Set if this process started it.
    child: Option<Child>,
}

impl HeldCommand {
    /// Starts the command of a request, on a machine where the host cannot: its output goes to this process's standard
    /// error. The request then contains its process number.
    ///
    /// # Errors
    /// If this program cannot be started again.
    pub fn of(request: &mut WatchSettings) -> io::Result<Self> {
        let mut child = None;
        if request.pid.is_none() && request.comm.is_none() && !request.command.is_empty() {
            let started = spawn(&request.command)?;
            (request.pid, request.ours) = (Some(started.id() as i32), true);
            child = Some(started);
        }
        Ok(Self { pid: request.pid.filter(|_| request.ours), child })
    }

    /// Ends it, if it is still running; returns the exit status of a command started by this process, if it failed by
    /// itself.
    pub fn end(self) -> Option<ExitStatus> {
        let runs = |pid: &i32| targets::state_of(*pid).is_some_and(|state| state != 'Z');
        let asked = self.pid.filter(runs).inspect(|pid| terminate(*pid)).is_some();
        ending(self.child?).filter(|_| !asked)
    }
}

fn spawn(words: &[String]) -> io::Result<Child> {
    let elsewhere = io::stderr().as_fd().try_clone_to_owned()?;
    let mut command = Command::new("/proc/self/exe");
    command.arg("start").args(words).stdin(Stdio::null()).stdout(Stdio::from(elsewhere)).spawn()
}

/// Kills a command that does not end on request.
fn ending(mut child: Child) -> Option<ExitStatus> {
    let begun = Instant::now();
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if begun.elapsed() < STOP_TIME => std::thread::sleep(Duration::from_millis(5)),
            _ => {
                let _ = child.kill();
                break child.wait().ok()?;
            }
        }
    };
    (!status.success()).then_some(status)
}

/// Waits until a process in [`become_command`] has stopped itself.
///
/// # Errors
/// It has not, or is gone.
pub fn await_stop(pid: i32) -> Result<(), MeterProblem> {
    let begun = Instant::now();
    loop {
        match targets::state_of(pid) {
            Some('T') => return Ok(()),
            None => return Err(MeterProblem::CommandGone { pid }),
            Some(_) if begun.elapsed() > STOP_TIME => return Err(MeterProblem::CommandNotHeld { pid }),
            Some(_) => std::thread::sleep(Duration::from_millis(5)),
        }
    }
}

/// Continues it.
pub fn release(pid: i32) {
    signal(pid, Signal::CONT);
}

/// Asks it to end.
fn terminate(pid: i32) {
    signal(pid, Signal::TERM);
    signal(pid, Signal::CONT);
}

fn signal(pid: i32, signal: Signal) {
    // A process that is gone needs no signal.
    let _ = Pid::from_raw(pid).map(|pid| kill_process(pid, signal));
}
