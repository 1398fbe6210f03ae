//! The meter's side of its loads: start them, ask how they do, end them.

use super::builtin::{self, BuiltinLoad};
use super::counters::Counters;
use super::place::{self, Room};
use super::pulse::{PATIENCE, Pulse};
use super::{LoadError, family, program};
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

/// A supervisor gets this long to end its workers and to tidy up before it is killed itself.
const STOP_PATIENCE: Duration = Duration::from_secs(4);
/// What is quoted of a load's complaints.
const QUOTE_BYTES: u64 = 400;
/// Complaints kept in memory; a load that writes without end must not fill it.
const COMPLAINTS_BYTES_MAX: u64 = 256 << 10;

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
            LoadRequest::Command { line } if line.trim().is_empty() => return Err(LoadError::EmptyCommand),
            LoadRequest::Program { name, words } => program::check(name, words)?,
            LoadRequest::Builtin { .. } | LoadRequest::Command { .. } => {}
        }
    }
    Ok(())
}

/// The loads of one run. Dropping it ends them too.
#[derive(Default)]
pub struct RunningLoads {
    loads: Vec<Running>,
}

struct Running {
    name: String,
    unit: &'static str,
    counters: Counters,
    supervisor: Child,
    /// Takes the instant at which the load begins. Closing it ends the load.
    life: Option<PipeWriter>,
    /// What the load wrote to standard error.
    complaints: File,
    pulse: Pulse,
    tells_at_its_end: bool,
    /// Directory to remove should the supervisor be killed before it can.
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
        loads.begin_at(i64::MIN);
        Ok(loads)
    }

    /// Has every requested load, or none, ready to begin.
    pub fn prepare(requests: &[LoadRequest]) -> Result<Self, LoadError> {
        Self::prepare_with(Path::new("/proc/self/exe"), requests)
    }

    /// Has loads that were prepared begin at an instant of CLOCK_MONOTONIC, in ns; at once when it has passed.
    pub fn begin_at(&mut self, instant_ns: i64) {
        let instant_ns = instant_ns.max(0).to_le_bytes();
        for life in self.loads.iter_mut().filter_map(|load| load.life.as_mut()) {
            // A supervisor that does not read has died, which the first look at it tells.
            let _ = life.write_all(&instant_ns);
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
                LoadRequest::Command { line } => {
                    started.loads.push(spawn(executable, line, "CPU ticks", &["--command", line], None)?)
                }
                LoadRequest::Program { name, .. } => {
                    started.loads.push(start_program(executable, name, &request.text())?);
                }
            }
        }
        Ok(started)
    }

    /// How every load does now; does not wait. To be asked about once a second.
    pub fn sample(&mut self) -> Vec<LoadReport> {
        self.loads.iter_mut().map(Running::report).collect()
    }

    /// Processes of all loads: the supervisors and everything below them.
    pub fn pids(&self) -> Vec<i32> {
        let supervisors = self.loads.iter().filter(|load| load.ended.is_none()).map(|load| load.supervisor.id() as i32);
        supervisors
            .flat_map(|pid| {
                std::iter::once(pid).chain(family::descendants(pid).iter().map(|task| task.pid)).collect::<Vec<_>>()
            })
            .collect()
    }

    /// Ends every load, waits until none of its processes and files is left, and reports a last time. A program may tell of
    /// its work only now.
    pub fn stop(mut self) -> Vec<LoadReport> {
        let mut reports = self.sample();
        self.end();
        for (report, load) in reports.iter_mut().zip(&self.loads).filter(|(_, load)| load.tells_at_its_end) {
            report.progress = load.counters.total();
            if report.alive && report.progress == 0 {
                report.alive = false;
                report.detail =
                    "it finished no round and did not tell what it did when it was interrupted; ask for shorter \
                                 rounds, or run longer"
                        .into();
            }
        }
        reports
    }

    fn end(&mut self) {
        for load in &mut self.loads {
            load.life = None;
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
    let workers = if workers == 0 { load.told.workers.on(cpus) } else { workers };
    let name = || load.told.name.to_string();
    let place = place::choose(load.room, workers).map_err(|source| LoadError::Place { name: name(), source })?;
    let workers = workers.to_string();
    let mut arguments = vec![load.told.name, "--workers", &workers];
    let path = place.as_ref().map(|place| place.to_string_lossy());
    if let Some(path) = &path {
        arguments.extend(["--place", path]);
    }
    let parent = place.as_deref().filter(|_| load.room == Room::Entries);
    spawn(executable, load.told.name, load.told.unit, &arguments, parent)
}

fn start_program(executable: &Path, name: &str, text: &str) -> Result<Running, LoadError> {
    let unit = program::find(name).map_or("", |(_, told)| told.unit);
    let place = place::choose(Room::Bytes, 1).map_err(|source| LoadError::Place { name: name.into(), source })?;
    let parent = place.as_deref().unwrap_or(Path::new("/tmp"));
    let arguments = ["--program", text, "--place", &parent.to_string_lossy()];
    let mut running = spawn(executable, text, unit, &arguments, Some(parent))?;
    running.tells_at_its_end = true;
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
    let complaints = memfd_create(c"load-complaints", MemfdFlags::CLOEXEC).map_err(|error| shared(error.into()))?;
    // Those who open it anew through /proc must not write over what others wrote.
    fcntl_setfl(&complaints, OFlags::APPEND).map_err(|error| shared(error.into()))?;
    let complaints = File::from(complaints);
    let (life_end, life) = io::pipe().map_err(shared)?;
    let start = |executable: &Path| {
        let mut command = Command::new(executable);
        command.arg0("tardy-meter").args(["load", "--supervised"]).args(arguments).process_group(0);
        command.stdin(life_end.try_clone()?).stdout(Stdio::from(counters_file.try_clone()?));
        command.stderr(complaints.try_clone()?).spawn()
    };
    // /proc/self/exe is this very file even when an update replaced it; some sandboxes do not let it be run.
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
        life: Some(life),
        complaints,
        pulse: Pulse::new(Instant::now()),
        tells_at_its_end: false,
        ended: None,
    })
}

impl Running {
    fn report(&mut self) -> LoadReport {
        self.notice_end();
        self.cut_complaints();
        let progress = self.counters.total();
        let signs = progress.wrapping_add(self.counters.pulse().load(Ordering::Relaxed));
        let beats = self.pulse.beats(signs, Instant::now());
        let detail = match self.ended {
            Some(status) => self.how_it_ended(status),
            None if !beats => format!("no progress for {} s", PATIENCE.as_secs()),
            None => String::new(),
        };
        LoadReport { name: self.name.clone(), unit: self.unit.into(), progress, alive: detail.is_empty(), detail }
    }

    fn notice_end(&mut self) -> bool {
        if self.ended.is_none() {
            self.ended = self.supervisor.try_wait().ok().flatten();
        }
        self.ended.is_some()
    }

    fn how_it_ended(&self, status: ExitStatus) -> String {
        let quote = String::from_utf8_lossy(&self.complaints_tail()).into_owned();
        let printable = |line: &str| line.chars().filter(|character| !character.is_control()).collect::<String>();
        let lines: Vec<_> = quote.lines().map(|line| printable(line.trim())).filter(|line| !line.is_empty()).collect();
        let quote = lines[lines.len().saturating_sub(3)..].join("; ");
        match (status.signal(), quote.is_empty()) {
            (Some(signal), true) => format!("its supervisor was killed by signal {signal}"),
            (Some(signal), false) => format!("its supervisor was killed by signal {signal}; {quote}"),
            (None, true) => "it ended".into(),
            (None, false) => quote,
        }
    }

    fn complaints_tail(&self) -> Vec<u8> {
        let size = self.complaints.metadata().map_or(0, |metadata| metadata.len());
        let mut tail = vec![0; size.min(QUOTE_BYTES) as usize];
        let length = self.complaints.read_at(&mut tail, size.saturating_sub(QUOTE_BYTES)).unwrap_or(0);
        tail.truncate(length);
        tail
    }

    /// Gives back the memory of old complaints. Nothing moves, so that what is being written meanwhile is not lost.
    fn cut_complaints(&self) {
        let Ok(metadata) = self.complaints.metadata() else { return };
        // The kernel counts in blocks of 512 bytes whatever the block size is.
        if metadata.blocks() * 512 > COMPLAINTS_BYTES_MAX {
            let old = metadata.len().saturating_sub(QUOTE_BYTES);
            let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
            let _ = rustix::fs::fallocate(&self.complaints, flags, 0, old);
        }
    }

    /// Waits for the supervisor, whose pipe is closed by now, and does its work should it not come to it.
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

    /// Workers that were just killed may add to the directory for a moment.
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
