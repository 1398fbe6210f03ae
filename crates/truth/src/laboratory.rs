//! Carries out one experiment: a run with the injector as its load, on this machine or in a virtual one.

use crate::experiments::{EMULATED_LONGER, Experiment, Place};
use anyhow::{Context, ensure};
use archive::manifest::RunState;
use archive::settings::{LoadRequest, RunSettings, TraceSettings};
use runner::meter::MeterPlaces;
use runner::run::{RunRequest, TimeLimits};
use runner::stop::StopRequests;
use runner::target::local::LocalTarget;
use runner::target::file::TargetFiles;
use runner::target::qemu::{QemuTarget, kernel};
use runner::target::{Caveat, Command, RunningCommand, Target, TargetError};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Name of the archive of an experiment in its directory.
pub const RUN: &str = "run";
/// Name of the log of its injector.
pub const LOG: &str = "injections.log";
/// Name of the virtual machines' target files.
const TARGET: &str = "truth";
/// The CPU that is measured and made late.
const CPU: u32 = 1;
const PRIORITY: u8 = 80;
const INTERVAL_NS: u64 = 1_000_000;
/// What is later than this is captured.
const LIMIT_NS: i64 = 150_000;
const LIMIT_NS_EMULATED: i64 = 2_000_000;
const SNAPSHOTS_MAX: u32 = 500;
const BUDGET_BYTES: u64 = 1 << 30;
/// How long a machine may be silent on a busy host.
const SILENCE: Duration = Duration::from_secs(180);
/// Paths in a guest. It has no shell: the injector stands in for it and is given the command line.
const GUEST_SHELL: &str = "/bin/sh";
const GUEST_LOG: &str = "/injections.log";
const GUEST_MODULE: &str = "/tardy_inject.ko";

/// What the laboratory works with.
#[derive(Debug)]
pub struct Laboratory {
    /// The injector, a static program.
    pub injector: PathBuf,
    /// What `kernels/inject/build-for` left: for each series a target file and the kernel module.
    pub modules: PathBuf,
    /// Injections to make in each experiment.
    pub injections: u64,
    pub seed: u64,
}

impl Laboratory {
    /// Runs one experiment into a directory, which must not exist.
    pub fn carry_out(&self, experiment: &Experiment, place: Place, directory: &Path) -> anyhow::Result<()> {
        fs::create_dir_all(directory).with_context(|| format!("failed to make {}", directory.display()))?;
        let log = std::path::absolute(directory)?.join(LOG);
        let longer = if place == Place::Here { 1 } else { EMULATED_LONGER };
        let (length_us, pause_us) = (experiment.length_us_at(place), experiment.pause_us * longer.min(4));
        let (program, log_there) = match place {
            Place::Here => {
                (format!("exec {}", std::path::absolute(&self.injector)?.display()), log.display().to_string())
            }
            Place::Virtual(_) => ("tardy-injector".into(), GUEST_LOG.into()),
        };
        let duration_ns = self.injections * (length_us + pause_us) * 1000;
        let seconds = duration_ns / 1_000_000_000;
        let mut line = format!(
            "{program} {} --cpu {CPU} --length-us {length_us} --pause-us {pause_us} --seed {} --seconds {seconds} \
             --log {log_there}",
            experiment.injector, self.seed
        );
        if experiment.module {
            line += &format!(" --module {GUEST_MODULE}");
        }
        let settings = settings(place, duration_ns, line, self.seed);
        let request = RunRequest {
            id: experiment.name.into(),
            directory: directory.join(RUN),
            command: Vec::new(),
            tool_version: env!("CARGO_PKG_VERSION").into(),
            meter: if place == Place::Here { MeterPlaces::of_process().find()? } else { "tardy-meter".into() },
            limits: TimeLimits::of(&settings, SILENCE),
            settings,
        };
        let stop = StopRequests::default();
        let outcome = match place {
            Place::Here => runner::run::run(&mut LocalTarget, &request, &stop, &mut |_| {})?,
            Place::Virtual(kernel) => {
                let mut guest = self.guest(experiment, kernel, log, &stop)?;
                runner::run::run(&mut guest, &request, &stop, &mut |_| {})?
            }
        };
        ensure!(
            outcome.state == RunState::Complete,
            "the run in {} ended as {:?}: {}",
            directory.display(),
            outcome.state,
            outcome.problem.unwrap_or_default()
        );
        Ok(())
    }

    fn guest(&self, experiment: &Experiment, kernel: &str, log: PathBuf, stop: &StopRequests) -> anyhow::Result<Guest> {
        let own = self.modules.join(kernel.trim_start_matches("debian:"));
        let machine = TargetFiles { here: own.join("targets"), own: None }.read(TARGET)?;
        let cache = kernel::cache().map_err(anyhow::Error::msg)?;
        let meter = MeterPlaces::of_process().find_for(machine.architecture)?;
        let mut sent = vec![(self.injector.clone(), PathBuf::from(GUEST_SHELL))];
        if experiment.module {
            sent.push((own.join("tardy_inject.ko"), PathBuf::from(GUEST_MODULE)));
        }
        let machine = QemuTarget::new(TARGET, machine, &meter, &cache, stop.clone());
        Ok(Guest { machine, sent, log })
    }
}

fn settings(place: Place, duration_ns: u64, line: String, seed: u64) -> RunSettings {
    let trace = TraceSettings {
        snapshots_max: SNAPSHOTS_MAX,
        budget_bytes: BUDGET_BYTES,
        rest_ns: 0,
        beside_others: true,
        ..TraceSettings::default()
    };
    RunSettings {
        interval_ns: if place == Place::Here { INTERVAL_NS } else { 2 * INTERVAL_NS },
        duration_ns: Some(duration_ns),
        cpus: Some(vec![CPU]),
        priority: PRIORITY,
        limit_ns: Some(if place == Place::Here { LIMIT_NS } else { LIMIT_NS_EMULATED }),
        trace,
        loads: vec![LoadRequest::Command { line }],
        dither_seed: Some(seed),
        ..RunSettings::default()
    }
}

/// A virtual machine that is given files before it boots, and whose injections are fetched before it goes.
struct Guest {
    machine: QemuTarget,
    sent: Vec<(PathBuf, PathBuf)>,
    log: PathBuf,
}

impl Target for Guest {
    fn name(&self) -> &str {
        self.machine.name()
    }

    fn prepare(&mut self) -> Result<(), TargetError> {
        self.machine.prepare()?;
        self.sent.iter().try_for_each(|(from, to)| self.machine.send_file(from, to))
    }

    fn send_file(&mut self, from: &Path, to: &Path) -> Result<(), TargetError> {
        self.machine.send_file(from, to)
    }

    fn start(&mut self, command: &Command) -> Result<Box<dyn RunningCommand>, TargetError> {
        self.machine.start(command)
    }

    fn fetch_file(&mut self, from: &Path, to: &Path) -> Result<(), TargetError> {
        self.machine.fetch_file(from, to)
    }

    fn console(&self) -> Vec<u8> {
        self.machine.console()
    }

    fn forgets(&self) -> bool {
        self.machine.forgets()
    }

    fn caveat(&self) -> Option<Caveat> {
        self.machine.caveat()
    }

    /// A log that cannot be fetched is missing afterwards, which is an error there.
    fn close(&mut self) -> Result<(), TargetError> {
        let fetched = self.machine.fetch_file(Path::new(GUEST_LOG), &self.log);
        self.machine.close()?;
        fetched
    }
}
