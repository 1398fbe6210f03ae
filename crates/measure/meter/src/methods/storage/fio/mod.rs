//! fio as the engine of the method `storage`: it makes the requests, and its latency logs become samples.
//!
//! [`job`] writes the job file, [`process`] runs fio while the run measures, and [`log`] reads a line of a log. fio writes its logs when
//! it ends, so each thread of the meter waits for that and then hands over the requests of one thread of fio.

mod failure;
mod job;
mod log;
pub mod process;

use super::request::{Place, Requests};
use super::{MethodError, Release, RunContext, ThreadSetup, target};
use crate::journal::{Entry, Journal, measured_file};
use crate::kernel::clock;
use crate::measure::loss_counter::LossCounter;
use crate::measure::waiter::{Arrival, Waiter};
use crate::methods::program::RequestingProgram;
use archive::loss::LossKind;
use archive::message::{FileKind, Problem, Severity};
use archive::method::Method;
use archive::method::state::{Obstacle, ObstacleKind};
use archive::settings::Policy;
use failure::FioFailure;
use job::Conditions;
pub use job::places;
pub use process::is_installed;
use serde::Deserialize;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicI64, Ordering::Relaxed};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

const JOBS: &str = "jobs.fio";
const RESULT: &str = "result.json";
const ERRORS: &str = "errors.txt";
const RESULT_BYTES_MAX: u64 = 16 << 20;
/// As many as the option `threads` has at most.
const THREADS_MAX: usize = 64;
/// A line of a log has less than a tenth of it.
const LINE_BYTES_MAX: u64 = 512;
/// The session takes samples out of their ring several times a second; faster ones would be lost.
const SAMPLES_AT_ONCE: u64 = 10_000;
/// The time for it to end.
const ENDING_NS: i64 = 300_000_000_000;
const BREATH: Duration = Duration::from_millis(20);

/// One run of fio, for the threads that wait for it.
pub struct FioRun {
    directory: PathBuf,
    cpus: Vec<u32>,
    policy: Policy,
    priority: u8,
    over: AtomicBool,
    /// When the run ends; known once it has started.
    end_ns: AtomicI64,
    /// Process number of fio; 0 before it is started.
    pid: AtomicI32,
    outcome: OnceLock<Result<Outcome, FioFailure>>,
}

/// The report of fio in JSON.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
struct Outcome {
    /// CLOCK_REALTIME - CLOCK_MONOTONIC.
    offset_ns: i64,
    /// Requests of each thread; empty if fio added several up.
    requests: Vec<u64>,
}

impl FioRun {
    fn is_over(&self) -> bool {
        self.over.load(Relaxed)
    }

    fn ended(&self, ended: Result<(), FioFailure>) {
        let offset_ns = clock::realtime_ns() - clock::monotonic_ns();
        let outcome = ended.and_then(|()| {
            let text = bounded(&self.directory.join(RESULT), RESULT_BYTES_MAX).map_err(FioFailure::NoResult)?;
            Ok(Outcome { offset_ns, requests: requests_in(&text)? })
        });
        let _ = self.outcome.set(outcome);
    }
}

impl RequestingProgram for FioRun {
    fn threads(&self) -> Vec<i32> {
        let pid = self.pid.load(Relaxed);
        if pid == 0 || self.outcome.get().is_some() {
            return Vec::new();
        }
        let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
        tasks.filter_map(|task| task.file_name().to_str()?.parse().ok()).collect()
    }

    /// It first writes its logs, and then they are read.
    fn ending_ns(&self) -> i64 {
        ENDING_NS
    }

    fn failure(&self) -> Option<Problem> {
        let why = self.outcome.get()?.as_ref().err()?.to_string();
        Some(Problem::new(Severity::Invalid, &MethodError::FioFailed { why }))
    }

    /// Its output in JSON.
    fn result(&self) -> Option<(FileKind, Vec<u8>)> {
        let text = bounded(&self.directory.join(RESULT), RESULT_BYTES_MAX).ok()?;
        (!text.is_empty()).then_some((FileKind::FioResult, text))
    }
}

fn bounded(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    File::open(path)?.take(bytes_max).read_to_end(&mut text)?;
    Ok(text)
}

/// The requests of each thread.
fn requests_in(json: &[u8]) -> Result<Vec<u64>, FioFailure> {
    #[derive(Deserialize, Default)]
    #[serde(default)]
    struct Requests {
        total_ios: u64,
    }
    #[derive(Deserialize)]
    struct Job {
        #[serde(default)]
        jobname: String,
        #[serde(default)]
        error: i32,
        #[serde(default)]
        read: Requests,
        #[serde(default)]
        write: Requests,
    }
    #[derive(Deserialize)]
    struct All {
        jobs: Vec<Job>,
    }
    // Notes of fio may come before and after it.
    let from = json.iter().position(|byte| *byte == b'{').unwrap_or(0);
    let mut all = serde_json::Deserializer::from_slice(&json[from..]).into_iter::<All>();
    let all = all.next().transpose().ok().flatten().ok_or(FioFailure::Unreadable)?;
    match all.jobs.iter().find(|job| job.error != 0) {
        Some(job) => Err(FioFailure::Job { job: job.jobname.clone(), source: io::Error::from_raw_os_error(job.error) }),
        None => Ok(all.jobs.iter().map(|job| job.read.total_ios.saturating_add(job.write.total_ios)).collect()),
    }
}

/// Hands over the requests of one thread of fio.
struct LogReader {
    fio: Arc<FioRun>,
    /// Requests that its log lacks.
    unlogged: Arc<LossCounter>,
    /// Of the first thread only, and until it is prepared.
    start: Option<Sender<()>>,
    /// Threads of fio, and how long it works from the first wait on.
    threads: usize,
    lasting_ns: i64,
    /// Number of fio's thread, from 0.
    thread: usize,
    log: Option<BufReader<File>>,
    line: String,
    read: u64,
}

impl LogReader {
    fn next(&mut self, offset_ns: i64) -> Option<Arrival> {
        loop {
            self.line.clear();
            let log = self.log.as_mut()?;
            if !log.by_ref().take(LINE_BYTES_MAX).read_line(&mut self.line).is_ok_and(|bytes| bytes > 0) {
                return None;
            }
            let Some(logged) = log::logged(&self.line) else { continue };
            self.read += 1;
            let seen_ns = logged.done_ms.saturating_mul(1_000_000).saturating_sub(offset_ns);
            let given_ns = seen_ns.saturating_sub(logged.latency_ns);
            return Some(Arrival::Stimulus { given_ns, seen_ns, skipped: 0 });
        }
    }

    fn log_path(&self) -> PathBuf {
        self.fio.directory.join(format!("log_lat.{}.log", self.thread + 1))
    }
}

impl Waiter for LogReader {
    /// fio takes a second or two until it makes its first request, which is before the run begins.
    fn prepare(&mut self) -> io::Result<()> {
        if let Some(start) = self.start.take() {
            let _ = start.send(());
            process::await_threads(&self.fio, self.threads);
        }
        Ok(())
    }

    fn wait(&mut self, due_ns: i64) -> Arrival {
        if self.fio.end_ns.load(Relaxed) == i64::MAX {
            self.fio.end_ns.store(due_ns.saturating_add(self.lasting_ns), Relaxed);
        }
        let outcome = match self.fio.outcome.get() {
            None => {
                std::thread::sleep(BREATH);
                return Arrival::Undisturbed { until_ns: due_ns };
            }
            Some(Err(_)) => return Arrival::Gone,
            Some(Ok(outcome)) => outcome.clone(),
        };
        if self.log.is_none() {
            self.log = File::open(self.log_path()).ok().map(BufReader::new);
        }
        if self.read > 0 && self.read.is_multiple_of(SAMPLES_AT_ONCE) {
            std::thread::sleep(BREATH);
        }
        self.next(outcome.offset_ns).unwrap_or_else(|| {
            let requests = outcome.requests.get(self.thread).copied().unwrap_or(self.read);
            self.unlogged.add(requests.saturating_sub(self.read));
            Arrival::Ended { skipped: 0 }
        })
    }
}

fn unlogged() -> Arc<LossCounter> {
    LossCounter::new(LossKind::Records, "of requests that fio made and did not write to its log")
}

fn impossible(text: String, fix: &str) -> MethodError {
    let obstacle = Obstacle { kind: ObstacleKind::Device, text, fix: fix.into() };
    MethodError::Impossible { method: Method::Storage, obstacles: vec![obstacle] }
}

/// Refuses settings that fio cannot follow.
fn check(run: &RunContext, overwrite: bool) -> Result<(), MethodError> {
    if run.settings.cycles.is_some() {
        return Err(impossible("fio runs for a time, not for a number of cycles".into(), "write --duration instead"));
    }
    if run.settings.policy == Policy::Deadline {
        let text = "a thread of SCHED_DEADLINE may not start fio".into();
        return Err(impossible(text, "choose another --policy, or the built-in engine"));
    }
    match run.settings.fio_jobs.as_deref().map(|jobs| job::check(jobs, overwrite)) {
        Some(Err(error)) => Err(impossible(error.to_string(), "")),
        _ => Ok(()),
    }
}

/// Makes what fio needs, and a measuring thread for each of its threads.
pub fn open(
    run: &RunContext,
    requests: &Requests,
    overwrite: bool,
    journal: &mut Journal,
) -> Result<Vec<ThreadSetup>, MethodError> {
    check(run, overwrite)?;
    let settings = run.settings;
    let jobs = settings.fio_jobs.as_deref();
    let refused = |action| move |source| MethodError::Refused { method: Method::Storage, action, source };
    let needs_target = jobs.is_none_or(|jobs| !job::names_a_place(jobs));
    let place = match &requests.place {
        // fio opens it by itself; until then this shows whether it may be used.
        Place::Device(device) => {
            let file = target::open(requests, device).map_err(refused("open the device"))?;
            let bytes = target::size_bytes(&file).map_err(refused("find the size"))?;
            Some((device.clone(), bytes.min(requests.size_bytes)))
        }
        Place::FileIn(_) if !needs_target => None,
        Place::FileIn(directory) => {
            let directory = directory.canonicalize().map_err(refused("find the directory"))?;
            let path = measured_file::path_in(&directory);
            journal.note(Entry::MeasuredFile { path: path.clone() })?;
            target::make(&path, requests.size_bytes).map_err(refused("make the file"))?;
            Some((path, requests.size_bytes))
        }
    };
    let (target, bytes) = place.unwrap_or_default();
    let logs = match &requests.place {
        Place::FileIn(directory) if directory.is_dir() => directory.clone(),
        _ => std::env::temp_dir(),
    };
    let logs = logs.canonicalize().map_err(refused("find the directory"))?;
    let directory = measured_file::fio_directory_in(&logs);
    let duration_ns = settings.duration_ns.map(|ns| ns.saturating_add(settings.settle_ns));
    let conditions = Conditions {
        logs: &directory,
        target: &target,
        bytes,
        duration_ns,
        interval_ns: settings.interval_ns,
        cpus: run.measured,
    };
    let text = job::text(requests, jobs, &conditions).map_err(|error| impossible(error.to_string(), ""))?;
    journal.note(Entry::MeasuredFile { path: directory.clone() })?;
    process::make_directory(&directory, &text).map_err(refused("make a directory for fio's logs"))?;
    let threads = process::threads_of(&directory.join(JOBS)).map_err(refused("have fio read its jobs"))?;
    if !(1..=THREADS_MAX).contains(&threads) {
        let text = format!("the jobs start {threads} threads, and a run has from 1 to {THREADS_MAX}");
        return Err(impossible(text, "change numjobs of the job file"));
    }
    let fio = Arc::new(FioRun {
        directory,
        cpus: run.measured.to_vec(),
        policy: settings.policy,
        priority: settings.priority,
        over: AtomicBool::new(false),
        end_ns: AtomicI64::new(i64::MAX),
        pid: AtomicI32::new(0),
        outcome: OnceLock::new(),
    });
    let (start, started) = channel();
    let kept = fio.clone();
    let builder = std::thread::Builder::new().name("tardy-fio".into());
    builder.spawn(move || process::keep(&kept, &started)).map_err(refused("start a thread for fio"))?;
    let lasting_ns = duration_ns.map_or(i64::MAX, |ns| i64::try_from(ns).unwrap_or(i64::MAX));
    let mut start = Some(start);
    let setup = |thread: usize| {
        let unlogged = unlogged();
        let reader = LogReader {
            fio: fio.clone(),
            unlogged: unlogged.clone(),
            start: start.take(),
            threads,
            lasting_ns,
            thread,
            log: None,
            line: String::new(),
            read: 0,
        };
        let over = fio.clone();
        let release: Release = Box::new(move || over.over.store(true, Relaxed));
        let cpu = run.measured[thread % run.measured.len()];
        ThreadSetup {
            shortest_ns: requests.shortest_ns(),
            losses: vec![unlogged],
            release: Some(release),
            program: Some(fio.clone()),
            ..ThreadSetup::new(cpu, reader)
        }
    };
    Ok((0..threads).map(setup).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_says_how_many_requests_each_thread_made_and_which_job_failed() {
        let good = br#"note: something
            {"jobs": [{"jobname": "a", "error": 0, "read": {"total_ios": 3}, "write": {"total_ios": 4}}, {"read": {"total_ios": 5}}]}
            "#;
        assert_eq!(requests_in(good).unwrap(), [7, 5]);
        let failed = br#"{"jobs": [{"jobname": "a", "error": 28}]}"#;
        assert!(matches!(
            requests_in(failed),
            Err(FioFailure::Job { job, source }) if job == "a" && source.kind() == io::ErrorKind::StorageFull
        ));
        assert!(matches!(requests_in(b"fio: oops"), Err(FioFailure::Unreadable)));
    }

    #[test]
    fn every_thread_hands_over_its_own_log_and_says_what_it_lacks() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("log_lat.1.log"), "1000, 5, 0, 4096\n1001, 7, 2, 4096\n1002, 9, 1, 512\n")
            .unwrap();
        std::fs::write(directory.path().join("log_lat.2.log"), "1000, 11, 0, 4096\n").unwrap();
        let fio = Arc::new(FioRun {
            directory: directory.path().into(),
            cpus: Vec::new(),
            policy: Policy::Other,
            priority: 0,
            over: AtomicBool::new(false),
            end_ns: AtomicI64::new(i64::MAX),
            pid: AtomicI32::new(0),
            outcome: OnceLock::new(),
        });
        let mut readers = [0, 1, 2].map(|thread| LogReader {
            fio: fio.clone(),
            unlogged: unlogged(),
            start: None,
            threads: 3,
            lasting_ns: 1,
            thread,
            log: None,
            line: String::new(),
            read: 0,
        });
        assert_eq!(readers[0].wait(77), Arrival::Undisturbed { until_ns: 77 });
        fio.outcome.set(Ok(Outcome { offset_ns: 999_000_000, requests: vec![2, 4, 1] })).unwrap();
        let mut samples = |thread: usize| {
            std::iter::from_fn(|| match readers[thread].wait(77) {
                Arrival::Stimulus { given_ns, seen_ns, .. } => Some((given_ns, seen_ns)),
                _ => None,
            })
            .collect::<Vec<_>>()
        };
        assert_eq!(samples(0), [(999_995, 1_000_000), (2_999_991, 3_000_000)]);
        assert_eq!(samples(1), [(999_989, 1_000_000)]);
        assert_eq!(samples(2), []);
        assert_eq!(readers.map(|reader| reader.unlogged.count()), [0, 3, 1]);
    }
}
