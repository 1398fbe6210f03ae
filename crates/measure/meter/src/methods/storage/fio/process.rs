//! The process of fio: started with the policy and on the CPUs of the run, ended with it.

use super::FioRun;
use super::failure::FioFailure;
use crate::kernel::{clock, scheduling, signals};
use archive::settings::Policy;
use rustix::process::{Pid, Signal, kill_process, set_parent_process_death_signal};
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::Receiver;
use std::time::Duration;

/// The command of the meter that becomes fio.
pub const COMMAND: &str = "end-with-meter";
const PROGRAM: &str = "fio";
const LOOK_EVERY: Duration = Duration::from_millis(5);
/// A fio that takes longer to start its threads starts them during the run.
const START_NS: i64 = 5_000_000_000;
/// Time for fio to write its logs.
const LOGS_NS: i64 = 100_000_000_000;
/// fio's exit code after a signal.
const ENDED_BY_SIGNAL: i32 = 128;
const ERRORS_BYTES_MAX: u64 = 4096;

/// Whether fio is installed on the machine whose files are below `root`.
pub fn is_installed(root: &Path) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let usual = ["/usr/local/bin", "/usr/bin", "/bin"].map(Into::into);
    let mut directories = std::env::split_paths(&path).chain(usual);
    directories.any(|directory| root.join(directory.strip_prefix("/").unwrap_or(&directory)).join(PROGRAM).is_file())
}

/// How many threads a job file starts.
///
/// # Errors
/// Words of fio about the file.
pub fn threads_of(job_file: &Path) -> io::Result<usize> {
    let shown = Command::new(PROGRAM).arg("--showcmd").arg(job_file).stdin(Stdio::null()).output()?;
    if !shown.status.success() {
        let said = String::from_utf8_lossy(&shown.stderr).chars().take(500).collect::<String>();
        return Err(io::Error::new(io::ErrorKind::InvalidInput, one_line(&said)));
    }
    Ok(threads_in(&String::from_utf8_lossy(&shown.stdout)))
}

/// Of a command line that fio shows: options before the first `--name` are those of all jobs.
fn threads_in(shown: &str) -> usize {
    let (mut of_all, mut jobs) = (1, Vec::new());
    for word in shown.split_whitespace() {
        let number = word.strip_prefix("--numjobs=").and_then(|number| number.parse::<usize>().ok());
        match (word.starts_with("--name="), number, jobs.last_mut()) {
            (true, ..) => jobs.push(of_all),
            (false, Some(number), None) => of_all = number,
            (false, Some(number), Some(job)) => *job = number,
            (false, None, _) => {}
        }
    }
    jobs.iter().fold(0, |sum, threads| sum.saturating_add(*threads))
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Waits for the start, runs fio until the end of the run, and says how it ended.
pub fn keep(fio: &FioRun, start: &Receiver<()>) {
    // Without a start there is nothing to do.
    if start.recv().is_err() {
        return;
    }
    // Where it is not permitted, the run is degraded: its threads have the same policy.
    let _ = scheduling::bind(&fio.cpus);
    let _ = scheduling::set_policy(fio.policy, fio.priority, 1_000_000);
    let ended = run(fio).map_err(FioFailure::NotStarted);
    // Log files are read at ordinary priority.
    let _ = scheduling::set_policy(Policy::Other, 0, 1_000_000);
    fio.ended(ended.and_then(|status| outcome(status, &fio.directory)));
}

fn run(fio: &FioRun) -> io::Result<ExitStatus> {
    let path = |name: &str| fio.directory.join(name);
    let mut child = Command::new("/proc/self/exe")
        .args([COMMAND, PROGRAM, "--output-format=json"])
        .arg(format!("--output={}", path(super::RESULT).display()))
        .arg(path(super::JOBS))
        .current_dir(&fio.directory)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(File::create(path(super::ERRORS))?)
        .spawn()?;
    fio.pid.store(child.id() as i32, Relaxed);
    while !fio.is_over() && clock::monotonic_ns() < fio.end_ns.load(Relaxed) {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        let left_ns = fio.end_ns.load(Relaxed).saturating_sub(clock::monotonic_ns()).max(0);
        std::thread::sleep(LOOK_EVERY.min(Duration::from_nanos(left_ns as u64)));
    }
    end(&mut child)
}

/// Waits until fio has started its threads: beside them it has one to begin with and one that helps.
pub fn await_threads(fio: &FioRun, threads: usize) {
    let begun_ns = clock::monotonic_ns();
    let started = || {
        let tasks = fs::read_dir(format!("/proc/{}/task", fio.pid.load(Relaxed)));
        tasks.is_ok_and(|tasks| tasks.count() >= threads + 2)
    };
    while !started() && fio.outcome.get().is_none() && clock::monotonic_ns() - begun_ns < START_NS {
        std::thread::sleep(LOOK_EVERY);
    }
}

/// Has fio end its jobs and write its logs.
fn end(child: &mut Child) -> io::Result<ExitStatus> {
    let begun_ns = clock::monotonic_ns();
    if let Some(pid) = Pid::from_raw(child.id() as i32) {
        let _ = kill_process(pid, Signal::INT);
    }
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if clock::monotonic_ns() - begun_ns > LOGS_NS {
            child.kill()?;
            return child.wait();
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

fn outcome(status: ExitStatus, directory: &Path) -> Result<(), FioFailure> {
    if status.success() || status.code() == Some(ENDED_BY_SIGNAL) {
        return Ok(());
    }
    if status.signal() == Some(Signal::INT.as_raw()) {
        return Err(FioFailure::EndedBeforeItsJobs);
    }
    let mut said = String::new();
    let errors = File::open(directory.join(super::ERRORS));
    let _ = errors.and_then(|errors| errors.take(ERRORS_BYTES_MAX).read_to_string(&mut said));
    Err(FioFailure::Exit { status, said: one_line(&said) })
}

/// Runs the subcommand: becomes another program, which ends with the meter.
pub fn become_program(words: &[String]) -> i32 {
    let Some((program, arguments)) = words.split_first() else {
        eprintln!("tardy-meter: {COMMAND} needs a command");
        return 2;
    };
    let prepared = set_parent_process_death_signal(Some(Signal::TERM)).map_err(io::Error::from);
    if let Err(error) = prepared.and_then(|()| signals::unblock_all()) {
        eprintln!("tardy-meter: failed to prepare {program}: {error}");
        return 126;
    }
    let error = Command::new(program).args(arguments).exec();
    eprintln!("tardy-meter: failed to run {program}: {error}");
    if error.kind() == io::ErrorKind::NotFound { 127 } else { 126 }
}

/// Makes the directory of a run, for this user only.
///
/// # Errors
/// Errors of the kernel.
pub fn make_directory(path: &Path, jobs: &str) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new().mode(0o700).create(path)?;
    fs::write(path.join(super::JOBS), jobs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_of_all_jobs_are_counted() {
        assert_eq!(threads_in("fio --size=16m --name=a --numjobs=2 --bs=4k --name=b --rw=write"), 3);
        assert_eq!(threads_in("fio --numjobs=4 --name=a --name=b --numjobs=1"), 5);
        assert_eq!(threads_in("fio"), 0);
    }
}
