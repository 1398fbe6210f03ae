//! The meter's side of its loads: starts, monitors and ends them.

use super::builtin::{self, BuiltinLoad};
use super::kernel::counters::Counters;
use super::place::{self, Room};
use super::problem::{BrokenLoad, Failure, LoadError};
use super::stall::{PATIENCE, StallDetector};
use super::{process_tree, program};
use archive::load::CPU_TICKS;
use archive::message::LoadReport;
use archive::settings::LoadRequest;
use rustix::fs::{FallocateFlags, MemfdFlags, OFlags, fcntl_setfl, memfd_create};
use rustix::process::{Pid, Signal, kill_process_group};
use std::fs::File;
use std::io::{self, PipeWriter, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Time for a supervisor to end its workers and clean up before it is killed.
const STOP_PATIENCE: Duration = Duration::from_secs(4);
/// Bytes of a load's standard error to quote.
const QUOTE_BYTES: u64 = 400;
/// Most bytes of standard error kept in memory; a load that writes endlessly must not fill it.
const STDERR_BYTES_MAX: u64 = 256 << 10;

/// Whether each of the loads can be started here.
///
/// # Errors
/// The first that cannot, with the fix.
pub fn check(requests: &[LoadRequest]) -> Result<(), LoadError> {
    for request in requests {
        match request {
            LoadRequest::Builtin { name, .. } if builtin::parts(name).is_empty() => {
                return Err(LoadError::Unknown { name: name.clone() });
            }
            LoadRequest::Command { line, .. } if line.trim().is_empty() => return Err(LoadError::EmptyCommand),
            LoadRequest::Program { name, words } => program::check(name, words)?,
            LoadRequest::Builtin { .. } | LoadRequest::Command { .. } => {}
        }
    }
    Ok(())
}

/// The loads of one run. Dropping it also ends them.
#[derive(Default)]
pub struct RunningLoads {
    loads: Vec<Running>,
}

/// State of one load.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    pub name: String,
    /// The unit of progress.
    pub unit: &'static str,
    pub progress: u64,
    /// How often a command ended successfully and was restarted.
    pub repeats: Option<u64>,
    pub failure: Option<Failure>,
}

impl Report {
    pub fn is_alive(&self) -> bool {
        self.failure.is_none()
    }

    /// Whether it has ended and will not move again; one that stands still may.
    pub fn has_died(&self) -> bool {
        matches!(self.failure, Some(Failure::Died { .. } | Failure::Killed { .. }))
    }

    /// The problem of a run whose load does not work.
    pub fn problem(&self) -> Option<BrokenLoad> {
        self.failure.clone().map(|failure| BrokenLoad { name: self.name.clone(), failure })
    }
}

impl From<Report> for LoadReport {
    fn from(report: Report) -> Self {
        Self {
            alive: report.is_alive(),
            detail: match (&report.failure, report.repeats) {
                (Some(failure), _) => failure.to_string(),
                (None, Some(1)) => "started again once".into(),
                (None, Some(repeats)) => format!("started again {repeats} times"),
                (None, None) => String::new(),
            },
            name: report.name,
            unit: report.unit.into(),
            progress: report.progress,
        }
    }
}

struct Running {
    name: String,
    unit: &'static str,
    counters: Counters,
    supervisor: Child,
    /// Carries the load's start instant. Closing it ends the load.
    control: Option<PipeWriter>,
    /// The load's standard error.
    stderr: File,
    stall: StallDetector,
    reports_at_end: bool,
    /// Whether it is a command that is restarted; its heartbeat counts the restarts.
    repeats: bool,
    /// Directory to remove if the supervisor is killed before it can.
    directory: Option<PathBuf>,
    ended: Option<ExitStatus>,
}

impl RunningLoads {
    /// Starts every requested load, or none.
    pub fn start(requests: &[LoadRequest]) -> Result<Self, LoadError> {
        Self::start_with(Path::new("/proc/self/exe"), requests)
    }

    /// As [`Self::start`], with the path of the meter's executable.
    pub fn start_with(executable: &Path, requests: &[LoadRequest]) -> Result<Self, LoadError> {
        let mut loads = Self::prepare_with(executable, requests)?;
        loads.start_at(i64::MIN);
        Ok(loads)
    }

    /// Prepares every requested load for its start, or none.
    pub fn prepare(requests: &[LoadRequest]) -> Result<Self, LoadError> {
        Self::prepare_with(Path::new("/proc/self/exe"), requests)
    }

    /// Starts prepared loads at an instant of CLOCK_MONOTONIC, in ns; at once if it has passed.
    pub fn start_at(&mut self, instant_ns: i64) {
        let instant_ns = instant_ns.max(0).to_le_bytes();
        // A busy machine may have taken longer to prepare the run than a load may stand still.
        self.loads.iter_mut().for_each(|load| load.stall = StallDetector::new(Instant::now()));
        for control in self.loads.iter_mut().filter_map(|load| load.control.as_mut()) {
            // A supervisor that does not read has died, which the first report shows.
            let _ = control.write_all(&instant_ns);
        }
    }

    fn prepare_with(executable: &Path, requests: &[LoadRequest]) -> Result<Self, LoadError> {
        check(requests)?;
        let mut started = Self::default();
        for request in requests {
            match request {
                LoadRequest::Builtin { name, workers } => {
                    for load in builtin::parts(name) {
                        started.loads.push(start_builtin(executable, &load, *workers)?);
                    }
                }
                LoadRequest::Command { line, once } => {
                    let mut arguments = vec!["--command", line];
                    arguments.extend(once.then_some("--once"));
                    let mut running = spawn(executable, line, CPU_TICKS, &arguments, None)?;
                    running.repeats = !once;
                    started.loads.push(running);
                }
                LoadRequest::Program { name, .. } => {
                    started.loads.push(start_program(executable, name, &request.text())?);
                }
            }
        }
        Ok(started)
    }

    /// State of every load; does not wait. Must be called about once a second.
    pub fn sample(&mut self) -> Vec<Report> {
        self.loads.iter_mut().map(Running::report).collect()
    }

    /// Processes of all loads: the supervisors and all their descendants.
    pub fn pids(&self) -> Vec<i32> {
        let supervisors = self.loads.iter().filter(|load| load.ended.is_none()).map(|load| load.supervisor.id() as i32);
        supervisors
            .flat_map(|pid| {
                std::iter::once(pid)
                    .chain(process_tree::descendants(pid).iter().map(|task| task.pid))
                    .collect::<Vec<_>>()
            })
            .collect()
    }

    /// Ends every load, waits until all its processes and files are gone, and reports a last time. A program may report
    /// its work only now.
    pub fn stop(mut self) -> Vec<Report> {
        let mut reports = self.sample();
        self.end();
        for (report, load) in reports.iter_mut().zip(&self.loads).filter(|(_, load)| load.reports_at_end) {
            report.progress = load.counters.total();
            if report.failure.is_none() && report.progress == 0 {
                report.failure = Some(Failure::NoResult);
            }
        }
        reports
    }

    fn end(&mut self) {
        for load in &mut self.loads {
            load.control = None;
        }
        let give_up = Instant::now() + STOP_PATIENCE;
        for load in &mut self.loads {
            load.end(give_up);
        }
    }
}

impl Drop for RunningLoads {
    fn drop(&mut self) {
        self.end();
    }
}

fn start_builtin(executable: &Path, load: &BuiltinLoad, workers: u32) -> Result<Running, LoadError> {
    let cpus = rustix::thread::sched_getaffinity(None).map_or(1, |set| set.count());
    let workers = if workers == 0 { load.definition.workers.on(cpus) } else { workers };
    let name = || load.definition.name.to_string();
    let place = place::choose(load.room, workers).map_err(|source| LoadError::Place { name: name(), source })?;
    let workers = workers.to_string();
    let mut arguments = vec![load.definition.name, "--workers", &workers];
    let path = place.as_ref().map(|place| place.to_string_lossy());
    if let Some(path) = &path {
        arguments.extend(["--place", path]);
    }
    let parent = place.as_deref().filter(|_| load.room == Room::Entries);
    spawn(executable, load.definition.name, load.definition.unit, &arguments, parent)
}

fn start_program(executable: &Path, name: &str, text: &str) -> Result<Running, LoadError> {
    let unit = program::find(name).map_or("", |(_, definition)| definition.unit);
    let place = place::choose(Room::Bytes, 1).map_err(|source| LoadError::Place { name: name.into(), source })?;
    let parent = place.as_deref().unwrap_or(Path::new("/tmp"));
    let arguments = ["--program", text, "--place", &parent.to_string_lossy()];
    let mut running = spawn(executable, text, unit, &arguments, Some(parent))?;
    running.reports_at_end = true;
    Ok(running)
}

fn spawn(
    executable: &Path,
    name: &str,
    unit: &'static str,
    arguments: &[&str],
    directory_parent: Option<&Path>,
) -> Result<Running, LoadError> {
    let shared = |source: io::Error| LoadError::Counters { name: name.into(), source };
    let (counters_file, counters) = Counters::create().map_err(shared)?;
    let stderr = memfd_create(c"load-stderr", MemfdFlags::CLOEXEC).map_err(|error| shared(error.into()))?;
    // A process that opens it again through /proc must not overwrite earlier output.
    fcntl_setfl(&stderr, OFlags::APPEND).map_err(|error| shared(error.into()))?;
    let stderr = File::from(stderr);
    let (control_end, control) = io::pipe().map_err(shared)?;
    let start = |executable: &Path| {
        let mut command = Command::new(executable);
        command.arg0("tardy-meter").args(["load", "--supervised"]).args(arguments).process_group(0);
        command.stdin(control_end.try_clone()?).stdout(Stdio::from(counters_file.try_clone()?));
        command.stderr(stderr.try_clone()?).spawn()
    };
    // /proc/self/exe is this very file even if an update replaced it, but some sandboxes do not allow executing it.
    let supervisor = start(executable).or_else(|error| {
        std::env::current_exe().and_then(|path| if path == executable { Err(error) } else { start(&path) })
    });
    let supervisor = supervisor.map_err(|source| LoadError::Spawn {
        name: name.into(),
        executable: executable.display().to_string(),
        source,
    })?;
    Ok(Running {
        name: name.into(),
        unit,
        counters,
        directory: directory_parent.map(|parent| place::own_directory(parent, supervisor.id())),
        supervisor,
        control: Some(control),
        stderr,
        stall: StallDetector::new(Instant::now()),
        reports_at_end: false,
        repeats: false,
        ended: None,
    })
}

impl Running {
    fn report(&mut self) -> Report {
        self.notice_end();
        self.drop_old_stderr();
        let progress = self.counters.total();
        let signs = progress.wrapping_add(self.counters.heartbeat().load(Ordering::Relaxed));
        let progresses = self.stall.progresses(signs, Instant::now());
        let failure = match self.ended {
            // A command that runs once may end before the run does.
            Some(status) if status.success() => None,
            Some(status) => Some(self.failure_of(status)),
            None if !progresses => Some(Failure::Stalled { seconds: PATIENCE.as_secs() }),
            None => None,
        };
        let repeats = self.counters.heartbeat().load(Ordering::Relaxed);
        let repeats = self.repeats.then_some(repeats).filter(|repeats| *repeats > 0);
        Report { name: self.name.clone(), unit: self.unit, progress, repeats, failure }
    }

    fn notice_end(&mut self) -> bool {
        if self.ended.is_none() {
            self.ended = self.supervisor.try_wait().ok().flatten();
        }
        self.ended.is_some()
    }

    fn failure_of(&self, status: ExitStatus) -> Failure {
        let tail = String::from_utf8_lossy(&self.stderr_tail()).into_owned();
        let printable = |line: &str| line.chars().filter(|character| !character.is_control()).collect::<String>();
        let lines: Vec<_> = tail.lines().map(|line| printable(line.trim())).filter(|line| !line.is_empty()).collect();
        let stderr = lines[lines.len().saturating_sub(3)..].join("; ");
        match status.signal() {
            Some(signal) => Failure::Killed { signal, stderr },
            None => Failure::Died { stderr },
        }
    }

    fn stderr_tail(&self) -> Vec<u8> {
        let size = self.stderr.metadata().map_or(0, |metadata| metadata.len());
        let mut tail = vec![0; size.min(QUOTE_BYTES) as usize];
        let length = self.stderr.read_at(&mut tail, size.saturating_sub(QUOTE_BYTES)).unwrap_or(0);
        tail.truncate(length);
        tail
    }

    /// Frees the memory of old lines. Offsets do not change, so that concurrent writes are not lost.
    fn drop_old_stderr(&self) {
        let Ok(metadata) = self.stderr.metadata() else { return };
        // The kernel counts in blocks of 512 bytes, whatever the block size is.
        if metadata.blocks() * 512 > STDERR_BYTES_MAX {
            let old = metadata.len().saturating_sub(QUOTE_BYTES);
            let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
            let _ = rustix::fs::fallocate(&self.stderr, flags, 0, old);
        }
    }

    /// Waits for the supervisor, whose pipe is already closed, and does its cleanup if it cannot.
    fn end(&mut self, give_up: Instant) {
        while !self.notice_end() && Instant::now() < give_up {
            std::thread::sleep(Duration::from_millis(2));
        }
        if self.ended.is_some_and(|status| status.code().is_some()) {
            return;
        }
        let command = Pid::from_raw(self.counters.group().load(Ordering::Relaxed));
        for group in [command, Pid::from_raw(self.supervisor.id() as i32)].into_iter().flatten() {
            let _ = kill_process_group(group, Signal::KILL);
        }
        self.ended = self.ended.or_else(|| self.supervisor.wait().ok());
        self.remove_directory();
    }

    /// Workers that were just killed may still add to the directory for a moment.
    fn remove_directory(&self) {
        let Some(directory) = &self.directory else { return };
        for _ in 0..100 {
            match std::fs::remove_dir_all(directory) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => std::thread::sleep(Duration::from_millis(5)),
                _ => return,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn the_time_in_which_a_run_is_prepared_is_no_stall() {
        let folder = tempfile::tempdir().unwrap();
        // Waits for the start, and for the end.
        let supervisor = folder.path().join("supervisor");
        std::fs::write(&supervisor, "#!/bin/sh\nexec cat > /dev/null\n").unwrap();
        std::fs::set_permissions(&supervisor, std::fs::Permissions::from_mode(0o755)).unwrap();
        let request = LoadRequest::Command { line: "true".into(), once: false };
        let mut loads = RunningLoads::prepare_with(&supervisor, &[request]).unwrap();
        loads.loads[0].stall = StallDetector::new(Instant::now() - PATIENCE);
        assert!(matches!(loads.sample()[0].failure, Some(Failure::Stalled { .. })));
        loads.start_at(0);
        assert_eq!(loads.sample()[0].failure, None);
    }
}
