//! The options of `tardy run` and the meter settings that follow from them. [`declared`] has the form of an option.

pub mod declared;
#[cfg(test)]
mod documented;
mod extent;
mod load;
mod measurement;
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
pub use measurement::setting_change;
pub use output::{OutputArguments, SampleArguments, Showing};
pub use roles::RoleSettings;
pub use trace::{TraceArguments, megabytes};

use crate::exit::UsageError;
use crate::options::quantity::{CpuList, cpu_ranges};
use archive::settings::{RunSettings, SnapshotMode};
use clap::Args;
use declared::{Contradiction, no_key};
use machines::local;
use measurement::MeasurementArguments;
use std::time::Duration;
use tracer::TracerArguments;

const SEED_DEFAULT: u64 = 1;

/// The settings of one run, and where its archive goes.
#[derive(Debug, Args)]
pub struct RunArguments {
    #[command(flatten)]
    extent: ExtentArguments,
    /// Target to measure on: `local`, or one added with `tardy target add`
    #[arg(long, value_name = "NAME", default_value = local::NAME, help_heading = "Measurement")]
    #[arg(add = no_key("`targets`, above the sections, has the machines").or_beside())]
    pub target: String,
    #[command(flatten)]
    measurement: MeasurementArguments,
    #[command(flatten)]
    load: LoadArguments,
    #[command(flatten)]
    trace: TraceArguments,
    #[command(flatten)]
    tracers: TracerArguments,
    #[command(flatten)]
    samples: SampleArguments,
    #[command(flatten)]
    pub output: OutputArguments,
}

/// CPUs that fit into the kernel's CPU set of one process here.
const CPUS_OF_A_SET: usize = 1024;

impl RunArguments {
    /// The latency that ends the run, if there is one.
    pub fn stops_at_ns(&self) -> Option<i64> {
        self.extent.limit.filter(|_| self.measurement.stop_at_limit)
    }

    /// How many seeds to run in virtual time, if that was asked.
    pub fn seeds(&self) -> Option<u32> {
        self.measurement.seeds
    }

    /// Checks that this machine has the requested CPUs.
    ///
    /// # Errors
    /// If some are missing; lists the CPUs that exist.
    pub fn check_cpus_of_this_machine(&self) -> Result<(), UsageError> {
        let (Some(CpuList(asked)), Ok(allowed)) = (&self.measurement.cpus, rustix::thread::sched_getaffinity(None))
        else {
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
    ///
    /// # Errors
    /// If options contradict each other.
    pub fn settings(&self, virtual_time: bool) -> Result<RunSettings, Contradiction> {
        let settings = self.undivided_settings(virtual_time)?;
        match self.divided(&settings, virtual_time)? {
            Some((target, _)) => Ok(target),
            None => Ok(settings),
        }
    }

    /// The same where one machine has every role.
    fn undivided_settings(&self, virtual_time: bool) -> Result<RunSettings, Contradiction> {
        let mut settings = RunSettings::default();
        self.extent.apply(&mut settings);
        self.measurement.apply(&mut settings)?;
        self.load.apply(&mut settings);
        self.trace.apply(&mut settings);
        self.tracers.apply(&mut settings)?;
        self.samples.apply(&mut settings);
        self.check_stimulus(&mut settings)?;
        if virtual_time {
            settings.every_sample = true;
            settings.dither_seed = settings.dither_seed.or(Some(SEED_DEFAULT));
            // Reading the counters and every traced event would count as time of the kernel.
            settings.counters = false;
            if settings.trace.mode == SnapshotMode::Auto {
                settings.trace.mode = SnapshotMode::Off;
            }
        }
        Ok(settings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use archive::method::MethodRequest;
    use archive::settings::{LoadRequest, Policy, SettingChange, TraceSettings, WorstOfEach};
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
        assert!(refused.to_string().contains("-4096 "), "{refused}");
    }

    #[test]
    fn every_option_reaches_the_meter() {
        let words = "-D 20s -i 250us -a 0-1,3 -p 90 --policy rr --limit 100us --trace flip --trace-threshold 20us \
             --buffer-kb 64 --snapshots 3 --budget-mb 2 --controls 1 --beside-others --cpu-dma-latency 0 \
             --worst-of-each 30min --every-sample --settle 0 --worst-kept 7 --no-lock-memory --degrade --keep-going --load cpu:2 --load messaging";
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
                worst_of_each: Some(WorstOfEach::of_stretch(1_800_000_000_000)),
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
            keep_going: true,
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
        let refused = line.arguments.settings(false).unwrap_err().to_string();
        assert!(refused.contains("/nowhere/a.fio"), "{refused}");
        let line = Line::try_parse_from(["run", "--fio", path, "--method", "semaphore"]).unwrap();
        assert!(line.arguments.settings(false).unwrap_err().to_string().contains("storage:engine=fio"));
    }

    #[test]
    fn nonsense_is_refused_with_what_to_write() {
        assert!(refused(&["--interval", "100"]).contains("100us"));
        assert!(refused(&["--interval", "0"]).contains("zero"));
        assert!(refused(&["--priority", "100"]).contains("99"));
        assert!(refused(&["-D", "-5s"]).contains("-5s"));
        assert!(refused(&["--interval", "100h"]).contains("1us to 1h"));
        assert!(refused(&["--method", "semafore"]).contains("did you mean `semaphore`?"));
        assert!(refused(&["--stop-at-limit"]).contains("--limit"));
        assert!(refused(&["--load", "make -j4"]).contains("--load-cmd"));
        assert!(refused(&["--load", "cpu:x"]).contains("workers"));
        assert!(refused(&["--set", "/etc/passwd=x"]).contains("/proc/sys"));
        assert!(refused(&["--set", "/sys/../etc/passwd=x"]).contains("/proc/sys"));
        assert!(refused(&["--set", "kernel.x"]).contains("PATH=VALUE"));
    }
}
