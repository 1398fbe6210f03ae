//! The options of `tardy run` and the meter settings that follow from them.

mod extent;
mod load;
mod output;
pub mod planned;
mod roles;
mod stimulus;
mod thread_file;
mod trace;
mod tracer;
pub mod words;

pub use extent::ExtentArguments;
pub use load::LoadArguments;
pub use output::{OutputArguments, Showing};
pub use roles::RoleSettings;
pub use trace::{TraceArguments, TraceDefaults};

use crate::exit::UsageError;
use crate::options::quantity::{
    QuantityError, cpu_ranges, cpus, interval_ns, real_time_priority, time_ns, whole_microseconds_ns,
};
use archive::method::storage::{Engine, Storage};
use archive::method::{MethodOptions, MethodRequest};
use archive::settings::{Policy, RunSettings, SettingChange, SnapshotMode, TraceSettings};
use clap::{Args, ValueEnum};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;
use stimulus::StimulusSource;
use thiserror::Error;
use tracer::TracerArguments;

const DURATION_NS_DEFAULT: u64 = 60_000_000_000;
const SEED_DEFAULT: u64 = 1;
const WORST_KEPT_DEFAULT: u32 = 1000;

/// What one run is asked to do, and where it goes.
#[derive(Debug, Args)]
pub struct RunArguments {
    #[command(flatten)]
    extent: ExtentArguments,
    /// Target to measure on: `local`, or one added with `tardy target add`
    #[arg(long, value_name = "NAME", default_value = "local", help_heading = "Measurement")]
    pub target: String,
    /// What a sample measures: a method with its options, like semaphore:kind=sysv; `tardy methods` lists them
    #[arg(long, value_name = "NAME[:KEY=VALUE,...]", default_value = "timer", value_parser = MethodRequest::parse, help_heading = "Measurement")]
    method: MethodRequest,
    /// Have another target give the stimuli of --method and measure the round trips, like logger:port=/dev/ttyUSB0; or an
    /// external board, latmon:ADDRESS
    #[arg(long, value_name = "NAME[:KEY=VALUE,...]|latmon:ADDRESS", value_parser = StimulusSource::parse, help_heading = "Measurement")]
    stimulus: Option<StimulusSource>,
    /// Have fio on the target run the jobs of this job file: --method storage:engine=fio
    #[arg(long, value_name = "FILE", help_heading = "Measurement")]
    fio: Option<PathBuf>,
    /// Stop after N cycles per thread
    #[arg(short = 'l', long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), help_heading = "Measurement")]
    cycles: Option<u64>,
    /// Time between two wake-ups
    #[arg(short = 'i', long, value_name = "TIME", default_value = "1ms", value_parser = interval_ns, allow_hyphen_values = true, help_heading = "Measurement")]
    interval: u64,
    /// Randomise every interval with this seed, from 0.5 to 1.5 times --interval [default: none; in virtual time 1]
    #[arg(long, value_name = "N", help_heading = "Measurement")]
    pub seed: Option<u64>,
    /// In virtual time: run N seeds, starting with --seed, each into an archive below --out, and name the worst
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000), help_heading = "Measurement")]
    pub seeds: Option<u32>,
    /// Warm up for TIME before counting
    #[arg(long, value_name = "TIME", default_value = "500ms", value_parser = time_ns, help_heading = "Measurement")]
    settle: u64,
    /// CPUs to measure, one thread each, like 0-1,3 [default: all allowed CPUs]
    #[arg(short = 'a', long, value_name = "LIST", value_parser = parse_cpus, help_heading = "Measurement")]
    cpus: Option<CpuList>,
    /// Scheduling policy of the measuring threads
    #[arg(long, value_enum, default_value = "fifo", help_heading = "Measurement")]
    policy: PolicyName,
    /// Real-time priority of the measuring threads (fifo and rr)
    #[arg(short = 'p', long, value_name = "1-99", default_value_t = 80, value_parser = real_time_priority, help_heading = "Measurement")]
    priority: u8,
    /// Do not lock the meter's memory
    #[arg(long, help_heading = "Measurement")]
    no_lock_memory: bool,
    /// As in cyclictest: lock memory, which is the default
    #[arg(short = 'm', conflicts_with = "no_lock_memory", help_heading = "Measurement")]
    mlockall: bool,
    /// As in cyclictest: one thread per CPU, which is the default
    #[arg(short = 'S', help_heading = "Measurement")]
    smp: bool,
    /// Stop soon after the first wake-up later than --limit, as cyclictest's -b does
    #[arg(long, requires = "limit", help_heading = "Measurement")]
    stop_at_limit: bool,
    /// Hold this value in /dev/cpu_dma_latency, in whole microseconds; 0 forbids idle states
    #[arg(long, value_name = "TIME", value_parser = whole_microseconds_ns, help_heading = "Measurement")]
    cpu_dma_latency: Option<u64>,
    /// Change a kernel setting for the run, like kernel.sched_rt_runtime_us=-1; restored afterwards
    #[arg(long = "set", value_name = "PATH=VALUE", value_parser = setting, help_heading = "Measurement")]
    settings: Vec<SettingChange>,
    /// Do not sample the kernel's counters (switches, interrupts, faults, pressure) once a second; never done in virtual time
    #[arg(long, help_heading = "Measurement")]
    no_counters: bool,
    /// Measure even without the needed privileges, and mark the run as degraded
    #[arg(long, help_heading = "Measurement")]
    degrade: bool,

    #[command(flatten)]
    load: LoadArguments,

    #[command(flatten)]
    trace: TraceArguments,
    #[command(flatten)]
    tracers: TracerArguments,

    #[command(flatten)]
    pub output: OutputArguments,
}

/// CPUs that fit into the kernel's CPU set of one process here.
const CPUS_OF_A_SET: usize = 1024;

/// A list of CPUs as one value; clap would treat a bare vector as a repeated option.
#[derive(Debug, Clone)]
struct CpuList(Vec<u32>);

#[derive(Debug, Clone, Copy, ValueEnum)]
enum PolicyName {
    Fifo,
    Rr,
    Other,
    Deadline,
}

impl RunArguments {
    /// The latency that ends the run, if there is one.
    pub fn stops_at_ns(&self) -> Option<i64> {
        self.extent.limit.filter(|_| self.stop_at_limit)
    }

    /// Checks that this machine has the requested CPUs.
    ///
    /// # Errors
    /// If some are missing; lists the CPUs that exist.
    pub fn check_cpus_of_this_machine(&self) -> Result<(), UsageError> {
        let (Some(CpuList(asked)), Ok(allowed)) = (&self.cpus, rustix::thread::sched_getaffinity(None)) else {
            return Ok(());
        };
        let is_allowed = |cpu: &u32| usize::try_from(*cpu).is_ok_and(|cpu| cpu < CPUS_OF_A_SET && allowed.is_set(cpu));
        let missing: Vec<u32> = asked.iter().copied().filter(|cpu| !is_allowed(cpu)).collect();
        if missing.is_empty() {
            return Ok(());
        }
        let there: Vec<u32> = (0..CPUS_OF_A_SET as u32).filter(is_allowed).collect();
        let (missing, there) = (cpu_ranges(&missing), cpu_ranges(&there));
        let what = if missing.contains([',', '-']) { "CPUs" } else { "CPU" };
        Err(UsageError(format!("{what} {missing} cannot be measured here; this process may use {there}")))
    }

    /// Sets the duration of the measurement, replacing any earlier one.
    pub fn replace_duration(&mut self, ns: u64) {
        self.extent.duration = Some(ns);
    }

    pub fn silence(&self) -> Duration {
        self.output.silence()
    }

    /// The settings for the meter. A machine in virtual time keeps every sample and is traced only on request.
    pub fn settings(&self, virtual_time: bool) -> Result<RunSettings, UsageError> {
        let settings = self.undivided_settings(virtual_time)?;
        match self.divided(&settings, virtual_time)? {
            Some((target, _)) => Ok(target),
            None => Ok(settings),
        }
    }

    /// The same where one machine has every role.
    fn undivided_settings(&self, virtual_time: bool) -> Result<RunSettings, UsageError> {
        let duration_ns = self.extent.duration.or(if self.cycles.is_some() { None } else { Some(DURATION_NS_DEFAULT) });
        Ok(RunSettings {
            interval_ns: self.interval,
            duration_ns,
            cycles: self.cycles,
            settle_ns: self.settle,
            cpus: self.cpus.clone().map(|CpuList(cpus)| cpus),
            policy: match self.policy {
                PolicyName::Fifo => Policy::Fifo,
                PolicyName::Rr => Policy::Rr,
                PolicyName::Other => Policy::Other,
                PolicyName::Deadline => Policy::Deadline,
            },
            priority: self.priority,
            lock_memory: !self.no_lock_memory,
            cpu_dma_latency_us: self.cpu_dma_latency.map(|ns| (ns / 1000) as i32),
            limit_ns: self.extent.limit,
            worst_kept: self.output.worst_kept.unwrap_or(WORST_KEPT_DEFAULT),
            every_sample: self.output.every_sample || virtual_time,
            trace: self.trace_settings(virtual_time)?,
            loads: self.load.requests(),
            settings: self.settings.clone(),
            degrade: self.degrade,
            sources: self.tracers.sources(),
            dither_seed: self.seed.or(virtual_time.then_some(SEED_DEFAULT)),
            watch: None,
            audit: None,
            counters: !virtual_time && !self.no_counters,
            method: self.with_edges(thread_file::with_threads(&self.method_with_engine()?)?),
            fio_jobs: self.fio.as_deref().map(fio_jobs).transpose()?,
            stimulus: self.checked_stimulus(duration_ns)?,
        })
    }

    /// A job file is for fio.
    fn method_with_engine(&self) -> Result<MethodRequest, UsageError> {
        if self.fio.is_none() {
            return Ok(self.method.clone());
        }
        let storage = match &self.method.options {
            MethodOptions::Storage(storage) if storage.engine != Some(Engine::Builtin) => storage.clone(),
            _ if self.method.is_default() => Storage::default(),
            _ => return Err(UsageError("--fio is for --method storage:engine=fio; leave one of them out".into())),
        };
        Ok(MethodOptions::Storage(Storage { engine: Some(Engine::Fio), ..storage }).into())
    }

    fn trace_settings(&self, virtual_time: bool) -> Result<TraceSettings, UsageError> {
        let defaults = TraceDefaults {
            buffer_kb: self.tracers.buffer_kb(),
            snapshots: 40,
            budget_mb: 64,
            // Every traced event would count as time of the kernel.
            auto: if virtual_time { SnapshotMode::Off } else { SnapshotMode::Auto },
        };
        Ok(TraceSettings { tracer: self.tracers.tracer()?, ..self.trace.settings(defaults) })
    }
}

/// Longest job file of fio.
const JOBS_BYTES_MAX: u64 = 64 << 10;

/// The text of a job file.
fn fio_jobs(path: &Path) -> Result<String, UsageError> {
    let mut text = String::new();
    let read = File::open(path).and_then(|file| file.take(JOBS_BYTES_MAX + 1).read_to_string(&mut text));
    let refused = |why: String| Err(UsageError(format!("--fio {}: {why}", path.display())));
    match read {
        Err(error) => refused(format!("{error}; give the path of a job file of fio")),
        Ok(bytes) if bytes as u64 > JOBS_BYTES_MAX => {
            refused("it is longer than 64 KiB, and job files are short".into())
        }
        Ok(_) => Ok(text),
    }
}

fn parse_cpus(text: &str) -> Result<CpuList, QuantityError> {
    cpus(text).map(CpuList)
}

/// What is wrong with a kernel setting.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SettingError {
    #[error("write it as PATH=VALUE, like kernel.sched_rt_runtime_us=-1")]
    NoValue,
    #[error("`{0}` is neither a file below /proc/sys or /sys nor a sysctl name")]
    NoSetting(String),
}

/// `PATH=VALUE`, where PATH is a file below /proc/sys or /sys or a sysctl name.
fn setting(text: &str) -> Result<SettingChange, SettingError> {
    let (name, value) = text.split_once('=').ok_or(SettingError::NoValue)?;
    setting_change(name, value)
}

/// A setting by its name, which is a file below /proc/sys or /sys or a sysctl name.
fn setting_change(name: &str, value: &str) -> Result<SettingChange, SettingError> {
    let name = name.trim();
    let path = if name.starts_with('/') {
        name.to_owned()
    } else if name.contains('/') {
        format!("/proc/sys/{name}")
    } else {
        format!("/proc/sys/{}", name.replace('.', "/"))
    };
    let below = path.starts_with("/proc/sys/") || path.starts_with("/sys/");
    let straight = path.split('/').skip(1).all(|part| !part.is_empty() && part != "." && part != "..");
    if !below || !straight {
        return Err(SettingError::NoSetting(name.into()));
    }
    Ok(SettingChange { path, value: value.trim().to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use archive::settings::LoadRequest;
    use clap::Parser;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        arguments: RunArguments,
    }

    fn settings(words: &[&str]) -> RunSettings {
        let words = std::iter::once(&"run").chain(words);
        Line::try_parse_from(words).unwrap().arguments.settings(false).unwrap()
    }

    fn refused(words: &[&str]) -> String {
        Line::try_parse_from(std::iter::once(&"run").chain(words)).unwrap_err().to_string()
    }

    #[test]
    fn nothing_typed_means_the_defaults_of_a_run() {
        assert_eq!(settings(&[]), RunSettings::default());
    }

    #[test]
    fn cycles_alone_set_no_duration() {
        assert_eq!(settings(&["--cycles", "100"]).duration_ns, None);
        assert_eq!(settings(&["--cycles", "100", "-D", "1s"]).duration_ns, Some(1_000_000_000));
    }

    #[test]
    fn the_habits_of_cyclictest_are_understood() {
        let words = ["-m", "-Sp90", "-i200us", "-D", "1s", "-b", "100us", "--stop-at-limit"];
        let parsed = Line::try_parse_from(std::iter::once(&"run").chain(&words)).unwrap().arguments;
        assert_eq!(parsed.stops_at_ns(), Some(100_000));
        let settings = parsed.settings(false).unwrap();
        assert_eq!((settings.priority, settings.interval_ns, settings.lock_memory), (90, 200_000, true));
    }

    #[test]
    fn cpus_that_are_not_there_are_named_in_ranges() {
        let words = ["run", "--cpus", "0-4096"];
        let refused = Line::try_parse_from(words).unwrap().arguments.check_cpus_of_this_machine().unwrap_err();
        assert!(refused.to_string().contains("-4096 cannot be measured here"), "{refused}");
    }

    #[test]
    fn every_option_reaches_the_meter() {
        let words = "-D 20s -i 250us -a 0-1,3 -p 90 --policy rr --limit 100us --trace flip --trace-threshold 20us \
             --buffer-kb 64 --snapshots 3 --budget-mb 2 --controls 1 --beside-others --cpu-dma-latency 0 \
             --every-sample --settle 0 --worst-kept 7 --no-lock-memory --degrade --load cpu:2 --load messaging";
        let mut words: Vec<&str> = words.split_whitespace().collect();
        words.extend(["--load-cmd", "make -j4", "--set", "kernel.sched_rt_runtime_us=-1"]);
        words.extend(["--method", "semaphore:kind=sysv"]);
        let expected = RunSettings {
            interval_ns: 250_000,
            duration_ns: Some(20_000_000_000),
            cycles: None,
            settle_ns: 0,
            cpus: Some(vec![0, 1, 3]),
            policy: Policy::Rr,
            priority: 90,
            lock_memory: false,
            cpu_dma_latency_us: Some(0),
            limit_ns: Some(100_000),
            worst_kept: 7,
            every_sample: true,
            trace: TraceSettings {
                mode: SnapshotMode::Flip,
                buffer_kb_per_cpu: 64,
                threshold_ns: 20_000,
                snapshots_max: 3,
                budget_bytes: 2 << 20,
                controls: 1,
                beside_others: true,
                ..TraceSettings::default()
            },
            loads: vec![
                LoadRequest::Builtin { name: "cpu".into(), workers: 2 },
                LoadRequest::Builtin { name: "messaging".into(), workers: 0 },
                LoadRequest::Command { line: "make -j4".into(), once: false },
            ],
            settings: vec![SettingChange { path: "/proc/sys/kernel/sched_rt_runtime_us".into(), value: "-1".into() }],
            degrade: true,
            method: MethodRequest::parse("semaphore:kind=sysv").unwrap(),
            ..RunSettings::default()
        };
        assert_eq!(settings(&words), expected);
    }

    #[test]
    fn a_job_file_goes_to_fio() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.fio");
        std::fs::write(&path, "[a]\nrw=randread\n").unwrap();
        let path = path.to_str().unwrap();
        let asked = settings(&["--fio", path, "--method", "storage:directory=/data"]);
        assert_eq!(asked.method_text(), "storage:directory=/data,engine=fio ([a]; rw=randread)");
        assert_eq!(settings(&["--fio", path]).fio_jobs.as_deref(), Some("[a]\nrw=randread\n"));
        let line = Line::try_parse_from(["run", "--fio", "/nowhere/a.fio"]).unwrap();
        assert!(line.arguments.settings(false).unwrap_err().to_string().contains("path of a job file"));
        let line = Line::try_parse_from(["run", "--fio", path, "--method", "semaphore"]).unwrap();
        assert!(line.arguments.settings(false).unwrap_err().to_string().contains("storage:engine=fio"));
    }

    #[test]
    fn nonsense_is_refused_with_what_to_write() {
        assert!(refused(&["--interval", "100"]).contains("100us"));
        assert!(refused(&["--interval", "0"]).contains("longer"));
        assert!(refused(&["--priority", "100"]).contains("99"));
        assert!(refused(&["-D", "-5s"]).contains("a time is a number with its unit"));
        assert!(refused(&["--interval", "100h"]).contains("1us to 1h"));
        assert!(refused(&["--method", "semafore"]).contains("choose among timer"));
        assert!(refused(&["--stop-at-limit"]).contains("--limit"));
        assert!(refused(&["--load", "make -j4"]).contains("--load-cmd"));
        assert!(refused(&["--load", "cpu:x"]).contains("workers"));
        assert!(refused(&["--set", "/etc/passwd=x"]).contains("/proc/sys"));
        assert!(refused(&["--set", "/sys/../etc/passwd=x"]).contains("/proc/sys"));
        assert!(refused(&["--set", "kernel.x"]).contains("PATH=VALUE"));
    }
}
