//! The method of a run and the settings of its threads, as options.

use super::declared::{Contradiction, key, no_key, options};
use super::stimulus::StimulusSource;
use super::thread_file;
use crate::options::choice::one_of;
use crate::options::quantity::{CpuList, interval_ns, real_time_priority, time, time_ns, whole, whole_microseconds_ns};
use archive::method::storage::{Engine, Storage};
use archive::method::{MethodOptions, MethodRequest};
use archive::settings::{Policy, RunSettings, SettingChange};
use clap::ArgAction;
use runner::plan::options::Place::Measurement;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use thiserror::Error;

const IS_THE_DEFAULT: &str = "it is the default";

options! {
    pub struct MeasurementArguments, "Measurement" {
        /// Method of measuring, with its options, like semaphore:kind=sysv; `tardy list methods` lists them
        #[arg(long, value_name = "NAME[:KEY=VALUE,...]", default_value = RunSettings::default().method.text(), value_parser = MethodRequest::parse)]
        pub(super) method: MethodRequest => Common, key(Measurement);
        /// Have another target give the stimuli of --method and measure the round trips, like logger:port=/dev/ttyUSB0; or an
        /// external board, latmon:ADDRESS
        #[arg(long, value_name = "NAME[:KEY=VALUE,...]|latmon:ADDRESS", value_parser = StimulusSource::parse)]
        pub(super) stimulus: Option<StimulusSource> => Rare, key(Measurement);
        /// Have fio on the target run the jobs of this job file: --method storage:engine=fio
        #[arg(long, value_name = "FILE")]
        fio: Option<PathBuf> => Rare, no_key("a plan is one file; `method` has the requests of storage");
        /// Stop after N cycles per thread
        #[arg(short = 'l', long, value_name = "N", value_parser = whole::<u64>(1..))]
        cycles: Option<u64> => Common, key(Measurement);
        /// Time between two wake-ups
        #[arg(short = 'i', long, value_name = "TIME", value_parser = interval_ns, allow_hyphen_values = true)]
        #[arg(default_value = time(RunSettings::default().interval_ns))]
        interval: u64 => Common, key(Measurement);
        /// Randomise every interval with this seed, from 0.5 to 1.5 times --interval [default: none; in virtual time 1]
        #[arg(long, value_name = "N", value_parser = whole::<u64>(0..))]
        seed: Option<u64> => Rare, key(Measurement);
        /// In virtual time: run N seeds, starting with --seed, each into an archive below --out, and name the worst
        #[arg(long, value_name = "N", value_parser = whole::<u32>(1..=100_000))]
        pub(super) seeds: Option<u32> => Rare, no_key("a step has one `seed`; make a variant for each");
        /// Warm up for TIME before counting
        #[arg(long, value_name = "TIME", value_parser = time_ns, default_value = time(RunSettings::default().settle_ns))]
        settle: u64 => Rare, key(Measurement);
        /// CPUs to measure, one thread each, like 0-1,3 [default: all allowed CPUs]
        #[arg(short = 'a', long, value_name = "LIST")]
        pub(super) cpus: Option<CpuList> => Common, key(Measurement);
        /// Scheduling policy of the measuring threads
        #[arg(long, value_name = "POLICY", value_parser = one_of::<Policy>(), default_value_t = RunSettings::default().policy)]
        policy: Policy => Common, key(Measurement);
        /// Real-time priority of the measuring threads (fifo and rr)
        #[arg(short = 'p', long, value_name = "1-99", value_parser = real_time_priority, default_value_t = RunSettings::default().priority)]
        priority: u8 => Common, key(Measurement);
        /// Do not lock the meter's memory
        #[arg(long = "no-lock-memory", action = ArgAction::SetFalse)]
        lock_memory: bool => Rare, key(Measurement);
        /// As in cyclictest: lock memory, which is the default
        #[arg(short = 'm', conflicts_with = "lock_memory")]
        mlockall: bool => Rare, no_key(IS_THE_DEFAULT);
        /// As in cyclictest: one thread per CPU, which is the default
        #[arg(short = 'S')]
        smp: bool => Rare, no_key(IS_THE_DEFAULT);
        /// Stop soon after the first wake-up later than --limit, as cyclictest's -b does
        #[arg(long, requires = "limit")]
        pub(super) stop_at_limit: bool => Rare, no_key("a step lasts for its `duration` or its `cycles`");
        /// Hold this value in /dev/cpu_dma_latency, in whole microseconds; 0 forbids idle states
        #[arg(long, value_name = "TIME", value_parser = whole_microseconds_ns)]
        cpu_dma_latency: Option<u64> => Rare, key(Measurement);
        /// Change a kernel setting for the run, like kernel.sched_rt_runtime_us=-1; restored afterwards
        #[arg(long = "set", value_name = "PATH=VALUE", value_parser = setting)]
        pub(super) settings: Vec<SettingChange> => Rare, no_key("[set] has the kernel settings");
        /// Do not sample the kernel's counters (switches, interrupts, faults, pressure) once a second; never done in virtual time
        #[arg(long = "no-counters", action = ArgAction::SetFalse)]
        counters: bool => Rare, key(Measurement);
        /// Measure even without the needed privileges, and mark the run as degraded
        #[arg(long)]
        degrade: bool => Rare, key(Measurement);
    }
}

impl MeasurementArguments {
    pub fn apply(&self, settings: &mut RunSettings) -> Result<(), Contradiction> {
        settings.method = thread_file::with_threads(&self.method_with_engine()?)?;
        settings.fio_jobs = self.fio.as_deref().map(fio_jobs).transpose()?;
        settings.cycles = self.cycles;
        settings.interval_ns = self.interval;
        settings.dither_seed = self.seed;
        settings.settle_ns = self.settle;
        settings.cpus = self.cpus.clone().map(|CpuList(cpus)| cpus);
        settings.policy = self.policy;
        settings.priority = self.priority;
        settings.lock_memory = self.lock_memory;
        settings.cpu_dma_latency_us = self.cpu_dma_latency.map(|ns| (ns / 1000) as i32);
        settings.settings = self.settings.clone();
        settings.counters = self.counters;
        settings.degrade = self.degrade;
        Ok(())
    }

    /// A job file is for fio.
    fn method_with_engine(&self) -> Result<MethodRequest, Contradiction> {
        if self.fio.is_none() {
            return Ok(self.method.clone());
        }
        let storage = match &self.method.options {
            MethodOptions::Storage(storage) if storage.engine != Some(Engine::Builtin) => storage.clone(),
            _ if self.method.is_default() => Storage::default(),
            _ => return Err(Contradiction::new("fio", "it is for --method storage:engine=fio; leave one of them out")),
        };
        Ok(MethodOptions::Storage(Storage { engine: Some(Engine::Fio), ..storage }).into())
    }
}

/// Longest job file of fio.
const JOBS_BYTES_MAX: u64 = 64 << 10;

/// The text of a job file.
fn fio_jobs(path: &Path) -> Result<String, Contradiction> {
    let mut text = String::new();
    let read = File::open(path).and_then(|file| file.take(JOBS_BYTES_MAX + 1).read_to_string(&mut text));
    let refused = |why: String| Err(Contradiction::new("fio", format!("{}: {why}", path.display())));
    match read {
        Err(error) => refused(format!("{error}; give the path of a job file of fio")),
        Ok(bytes) if bytes as u64 > JOBS_BYTES_MAX => {
            refused("it is longer than 64 KiB, and job files are short".into())
        }
        Ok(_) => Ok(text),
    }
}

/// A refused kernel setting.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SettingError {
    #[error("write it as PATH=VALUE, like kernel.sched_rt_runtime_us=-1")]
    NoValue,
    #[error("`{0}` is not a file below /proc/sys, /proc/irq or /sys, nor a sysctl name")]
    NoSetting(String),
}

/// `PATH=VALUE`, where PATH is a file below /proc/sys or /sys or a sysctl name.
fn setting(text: &str) -> Result<SettingChange, SettingError> {
    let (name, value) = text.split_once('=').ok_or(SettingError::NoValue)?;
    setting_change(name, value)
}

/// A setting by its name, which is a file below /proc/sys or /sys or a sysctl name.
///
/// # Errors
/// [`SettingError::NoSetting`].
pub fn setting_change(name: &str, value: &str) -> Result<SettingChange, SettingError> {
    let name = name.trim();
    let path = if name.starts_with('/') {
        name.to_owned()
    } else if name.contains('/') {
        format!("/proc/sys/{name}")
    } else {
        format!("/proc/sys/{}", name.replace('.', "/"))
    };
    let below = ["/proc/sys/", "/proc/irq/", "/sys/"].iter().any(|root| path.starts_with(root));
    let straight = path.split('/').skip(1).all(|part| !part.is_empty() && part != "." && part != "..");
    if !below || !straight {
        return Err(SettingError::NoSetting(name.into()));
    }
    Ok(SettingChange { path, value: value.trim().to_owned() })
}
