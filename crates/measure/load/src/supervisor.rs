//! The process between the meter and the workers of one load.
//!
//! Its standard input is the control pipe: it carries the load's start instant and nothing more, and closes when the
//! meter stops the load or dies. Its standard output is the file of the shared counters, its standard error a file that
//! the meter quotes. A pipe is better than the parent-death signal here: that signal also comes when only the *thread*
//! that started the supervisor ends, and it leaves no time to remove files. The workers, started by the supervisor's
//! single thread, do use that signal.

use super::builtin::BuiltinLoad;
use super::kernel::counters::Counters;
use super::kernel::process::fork_worker;
use super::ordinary::become_ordinary;
use super::place::{OwnDirectory, Room};
use super::process_tree::{self, Ended, Exit};
use super::program::{self, Program};
use super::workers::Workers;

use archive::settings::LoadWord;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, getpid, set_child_subreaper, setpgid};
use rustix::thread::{ClockId, clock_nanosleep_absolute};
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Interval of checks of the supervisor's children.
const WATCH_INTERVAL: Timespec = Timespec { tv_sec: 0, tv_nsec: 200_000_000 };
const END_PATIENCE: Duration = Duration::from_secs(2);

/// The work of one supervisor.
pub enum Work {
    Builtin {
        load: BuiltinLoad,
        workers: u32,
        directory: Option<PathBuf>,
    },
    /// Restarted after each success, unless it should run once.
    Command {
        line: String,
        once: bool,
    },
    Program {
        program: &'static Program,
        words: Vec<LoadWord>,
        directory: PathBuf,
    },
}

/// Runs the load until standard input closes or the load ends; returns the exit code.
pub fn supervise(work: Work) -> i32 {
    let name = match &work {
        Work::Builtin { load, .. } => format!("load-{}", load.definition.name),
        Work::Command { .. } => "load-command".into(),
        Work::Program { .. } => "load-program".into(),
    };
    let _ = rustix::thread::set_name(&std::ffi::CString::new(name).unwrap_or_default());
    let result = prepare().and_then(|(control, counters)| match wait_for_start(&control)? {
        true => run(&work, control, &counters),
        false => Ok(()),
    });
    process_tree::end(END_PATIENCE);
    match result {
        Ok(()) => 0,
        Err(error) => {
            eprintln!("{error}");
            1
        }
    }
}

/// Takes over the standard streams, so that no worker and no command holds or writes to them.
fn prepare() -> io::Result<(OwnedFd, Counters)> {
    let control = io::stdin().as_fd().try_clone_to_owned()?;
    let counters = Counters::open(io::stdout())?;
    let null = File::options().read(true).write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdin(&null)?;
    rustix::stdio::dup2_stdout(&null)?;
    become_ordinary()?;
    // Orphaned descendants become children of this process, which can then still end them.
    set_child_subreaper(Some(getpid()))?;
    Ok((control, counters))
}

/// Sleeps until the instant from the meter; false if the meter stops the load before.
fn wait_for_start(control: &OwnedFd) -> io::Result<bool> {
    let mut instant_ns = [0; size_of::<i64>()];
    match File::from(control.try_clone()?).read_exact(&mut instant_ns) {
        Ok(()) => sleep_until_ns(i64::from_le_bytes(instant_ns)),
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(false),
        Err(error) => return Err(error),
    }
    Ok(true)
}

/// Sleeps until an instant of CLOCK_MONOTONIC.
fn sleep_until_ns(instant_ns: i64) {
    let instant =
        Timespec { tv_sec: instant_ns.div_euclid(1_000_000_000), tv_nsec: instant_ns.rem_euclid(1_000_000_000) };
    while clock_nanosleep_absolute(ClockId::Monotonic, &instant) == Err(rustix::io::Errno::INTR) {}
}

fn run(work: &Work, control: OwnedFd, counters: &Counters) -> io::Result<()> {
    match work {
        Work::Builtin { load, workers, directory } => {
            let own = match (load.room, directory) {
                (Room::Entries, Some(parent)) => Some(OwnDirectory::create(parent)?),
                _ => None,
            };
            let directory = own.as_ref().map(|own| own.path.as_path()).or(directory.as_deref());
            let started = (load.start)(&mut Workers::new(*workers, directory, counters));
            let result = started.and_then(|()| watch_workers(&control));
            // Before the directory is removed: a live worker would fill it again.
            process_tree::end(END_PATIENCE);
            result
        }
        Work::Program { program, words, directory } => {
            let own = OwnDirectory::create(directory)?;
            let result = program::run(program, words, &own.path, &control, counters);
            process_tree::end(END_PATIENCE);
            result
        }
        Work::Command { line, once } => loop {
            let shell = start_command(line, counters)?;
            let succeeded = watch_command(shell, &control, counters)?;
            if !succeeded || *once {
                return Ok(());
            }
            counters.heartbeat().fetch_add(1, Ordering::Relaxed);
        },
    }
}

/// Waits briefly; true once the meter has stopped the load or died.
pub fn stop_requested(control: &OwnedFd) -> io::Result<bool> {
    match poll(&mut [PollFd::new(control, PollFlags::IN)], Some(&WATCH_INTERVAL)) {
        Ok(ready) => Ok(ready > 0),
        Err(rustix::io::Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// The first worker that ends also ends a built-in load.
fn watch_workers(control: &OwnedFd) -> io::Result<()> {
    while !stop_requested(control)? {
        if let Some(Ended { pid, exit }) = process_tree::next_ended()? {
            return Err(io::Error::other(format!("worker {} {exit}", pid.as_raw_pid())));
        }
    }
    Ok(())
}

/// Starts the shell in its own process group: `kill 0` in a script must not reach the supervisor.
fn start_command(line: &str, counters: &Counters) -> io::Result<Pid> {
    let shell = fork_worker("load-command", || {
        let _ = setpgid(None, None);
        let error = std::process::Command::new("/bin/sh").arg("-c").arg(line).exec();
        eprintln!("/bin/sh: {error}");
        127
    })?;
    // Parent and child both set the group, because either may run first; the child may already have started its
    // program.
    let _ = setpgid(Some(shell), Some(shell));
    counters.group().store(shell.as_raw_pid(), Ordering::Relaxed);
    Ok(shell)
}

/// A command is alive as long as any process it started, and its progress is the CPU time they use. True once it has
/// ended successfully, false if the meter stopped it.
///
/// # Errors
/// How it failed.
fn watch_command(shell: Pid, control: &OwnedFd, counters: &Counters) -> io::Result<bool> {
    let mut ticks_last = 0;
    let mut exit_of_shell = None;
    while !stop_requested(control)? {
        let ticks = process_tree::ticks_below_me();
        // The time of a child that was never reaped disappears from the sum; the remainder must not look like a stall.
        counters.worker(0).fetch_add(ticks.saturating_sub(ticks_last), Ordering::Relaxed);
        ticks_last = ticks;
        loop {
            match process_tree::next_ended() {
                Ok(Some(ended)) if ended.pid == shell => exit_of_shell = Some(ended.exit),
                Ok(Some(_)) => {}
                Ok(None) => break,
                Err(_) if exit_of_shell.is_some_and(Exit::is_success) => return Ok(true),
                Err(_) => {
                    let exit = exit_of_shell.map_or("ended".into(), |exit| exit.to_string());
                    return Err(io::Error::other(format!("the command {exit}")));
                }
            }
        }
    }
    Ok(false)
}
