//! Carries out one experiment: a run with the injector as its load, on this machine or in a virtual one.

use crate::experiments::Experiment;
use crate::place::Place;
use crate::stopper::Stopper;
use anyhow::{Context, ensure};
use archive::manifest::RunState;
use archive::message::RunPhase;
use archive::settings::{LoadRequest, Policy, RunSettings, TraceSettings};
use archive::watched::WatchSettings;
use machines::architecture::Architecture;
use machines::local::LocalTarget;
use machines::meter_places::MeterPlaces;
use machines::qemu::machine_file::AcceleratorChoice;
use machines::qemu::{QemuTarget, kernel};
use machines::stop::StopRequests;
use machines::target_file::TargetFiles;
use machines::{Caveat, Command, KnownTarget, RunningCommand, Target, TargetError};
use runner::event::Event;
use runner::run::{RunRequest, TimeLimits};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Name of the archive of an experiment in its directory.
pub const RUN: &str = "run";
/// Name of the log of its injector.
pub const LOG: &str = "injections.log";
/// Name of the list of stops of the machine, by the clock of the host, where it was stopped.
pub const STOPS: &str = "stops.log";
/// Extension of the directory of an experiment that is under way, or that failed.
const UNFINISHED: &str = "unfinished";
/// Name of the virtual machines' target files.
const TARGET: &str = "truth";
const PRIORITY: u8 = 80;
const INTERVAL_NS: u64 = 1_000_000;
/// Latency from which a wake-up is captured in an emulated machine.
const LIMIT_NS_EMULATED: i64 = 2_000_000;
const MARGIN_BEFORE_NS: u64 = 2_000_000;
/// More than the injections of a mix: the least late ones are the first to be given up.
const SNAPSHOTS_MAX: u32 = 2500;
const BUDGET_BYTES: u64 = 1 << 30;
/// How long a machine may be silent on a busy host.
const SILENCE: Duration = Duration::from_secs(180);
/// A nanosecond for each instruction, and idle time is skipped.
const VIRTUAL_TIME_ARGUMENTS: [&str; 4] = ["-icount", "shift=0,align=off,sleep=off", "-rtc", "clock=vm"];
/// How much longer a second of such a machine takes than one of another.
const VIRTUAL_TIME_SLOWDOWN: u32 = 10;
/// Paths in a guest. It has no shell: the injector stands in for it and is given the command line.
const GUEST_SHELL: &str = "/bin/sh";
const GUEST_LOG: &str = "/injections.log";
const GUEST_MODULE: &str = "/tardy_inject.ko";

/// Experiments with the same injector draw different numbers, whatever the seed of the laboratory.
const SEEDS_APART: u64 = 1000;
/// Control groups that an injector may have made: it is ended and cannot remove them.
const CONTROL_GROUPS: [&str; 2] = ["/sys/fs/cgroup/cpu/tardy-truth", "/sys/fs/cgroup/freezer/tardy-truth"];

/// The files and programs of the laboratory.
#[derive(Debug)]
pub struct Laboratory {
    /// The injector, a static program.
    pub injector: PathBuf,
    /// The output of `kernels/inject/build-for`: for each series a target file and the kernel module.
    pub modules: PathBuf,
    /// Injections to make in each experiment.
    pub injections: u64,
    pub seed: u64,
}

impl Laboratory {
    /// Runs one experiment into a directory, which must not exist. Only a complete one gets that name: what failed or was
    /// interrupted lies beside it, and the next attempt replaces it.
    pub fn carry_out(&self, experiment: &Experiment, place: Place, directory: &Path) -> anyhow::Result<()> {
        let unfinished = directory.with_extension(UNFINISHED);
        if unfinished.is_dir() {
            fs::remove_dir_all(&unfinished).with_context(|| format!("failed to remove {}", unfinished.display()))?;
        }
        self.measure_into(&unfinished, experiment, place)?;
        fs::rename(&unfinished, directory).with_context(|| format!("failed to rename {}", unfinished.display()))
    }

    fn measure_into(&self, directory: &Path, experiment: &Experiment, place: Place) -> anyhow::Result<()> {
        fs::create_dir_all(directory).with_context(|| format!("failed to make {}", directory.display()))?;
        let log = std::path::absolute(directory)?.join(LOG);
        let length_us = experiment.length_us_at(place);
        let pause_us = experiment.pause_us * place.longer().min(4);
        let duration_ns = self.injections * experiment.kinds() * (length_us + pause_us) * 1000;
        let injector = experiment.command_at(place);
        let words = |log: &str| {
            let mut words = format!(
                "{injector} --cpu {} --length-us {length_us} --pause-us {pause_us} --seed {} --seconds {} --log {log}",
                place.cpu(),
                self.seed_of(experiment),
                duration_ns.div_ceil(1_000_000_000)
            );
            if experiment.module {
                words += &format!(" --module {GUEST_MODULE}");
            }
            words
        };
        let (program, words) = match place {
            Place::Here => {
                (std::path::absolute(&self.injector)?.display().to_string(), words(&log.display().to_string()))
            }
            Place::Virtual(_) | Place::VirtualTime(_) | Place::ArmVirtualTime(_) => {
                (GUEST_SHELL.into(), words(GUEST_LOG))
            }
        };
        let settings = settings(experiment, place, duration_ns, &program, &words, self.seed_of(experiment));
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
        let stopper =
            experiment.stopped.then(|| Stopper::new(Duration::from_micros(length_us), Duration::from_micros(pause_us)));
        let mut follow = |event: Event| {
            if let (Event::Phase(phase), Some(stopper)) = (event, &stopper) {
                stopper.go_on(phase == RunPhase::Measure);
            }
        };
        let outcome = match place {
            Place::Here => {
                let ended = runner::run::run(&mut LocalTarget, &request, &stop, &mut follow);
                remove_control_groups();
                ended?
            }
            Place::Virtual(_) | Place::VirtualTime(_) | Place::ArmVirtualTime(_) => {
                let mut guest = self.guest(place, log, &stop)?;
                runner::run::run(&mut guest, &request, &stop, &mut follow)?
            }
        };
        if let Some(stopper) = stopper {
            fs::write(directory.join(STOPS), stopper.log())?;
        }
        ensure!(
            outcome.state == RunState::Complete,
            "the run in {} ended as {:?}: {}",
            directory.display(),
            outcome.state,
            outcome.problem.map(|problem| problem.text).unwrap_or_default()
        );
        Ok(())
    }

    /// The seed of an experiment's draws.
    pub fn seed_of(&self, experiment: &Experiment) -> u64 {
        self.seed * SEEDS_APART + experiment.seed
    }

    fn guest(&self, place: Place, log: PathBuf, stop: &StopRequests) -> anyhow::Result<Guest> {
        let in_virtual_time = place.in_virtual_time();
        let own = self.modules.join(place.directory());
        let files = TargetFiles { here: own.join("targets"), own: None };
        let mut machine = KnownTarget::find_in(&files, TARGET)?.virtual_machine()?.clone();
        if in_virtual_time {
            // With two CPUs one's instructions would be time of the other.
            machine.cpus = 1;
            machine.saved_state = true;
            machine.accel = AcceleratorChoice::TcgSingle;
            machine.qemu_arguments.extend(VIRTUAL_TIME_ARGUMENTS.map(String::from));
        }
        let cache = kernel::cache()?;
        let meter = MeterPlaces::of_process().find_for(machine.architecture)?;
        let mut sent = vec![(self.injector_for(machine.architecture), PathBuf::from(GUEST_SHELL))];
        // Even where no injector wants it: machines that start alike share one saved state.
        let module = own.join("tardy_inject.ko");
        if module.exists() {
            sent.push((module, PathBuf::from(GUEST_MODULE)));
        }
        let machine = QemuTarget::new(TARGET, machine, &meter, &cache, stop.clone());
        Ok(Guest { machine, in_virtual_time, sent, log })
    }
}

impl Laboratory {
    /// The injector for an architecture. Injectors of foreign architectures lie beside this machine's, with the architecture behind their name.
    fn injector_for(&self, architecture: Architecture) -> PathBuf {
        if Architecture::of_host() == Some(architecture) {
            return self.injector.clone();
        }
        let name = self.injector.file_name().unwrap_or_default().to_string_lossy();
        self.injector.with_file_name(format!("{name}-{architecture}"))
    }
}

fn remove_control_groups() {
    for group in CONTROL_GROUPS {
        // One that was not made need not be removed.
        let _ = fs::remove_dir(group);
    }
}

fn settings(
    experiment: &Experiment,
    place: Place,
    duration_ns: u64,
    program: &str,
    words: &str,
    seed: u64,
) -> RunSettings {
    let (interval_ns, limit_ns) = match place {
        Place::Virtual(_) => (2 * INTERVAL_NS, LIMIT_NS_EMULATED),
        Place::Here | Place::VirtualTime(_) | Place::ArmVirtualTime(_) => (INTERVAL_NS, experiment.limit_us * 1000),
    };
    let trace = TraceSettings {
        snapshots_max: SNAPSHOTS_MAX,
        budget_bytes: BUDGET_BYTES,
        rest_ns: 0,
        beside_others: true,
        margin_before_ns: MARGIN_BEFORE_NS,
        ..TraceSettings::default()
    };
    let command = || [program].into_iter().chain(words.split(' ')).map(String::from).collect();
    let watch = experiment.watched.map(|_| WatchSettings {
        command: command(),
        cycle_limit_ns: Some(limit_ns),
        ..WatchSettings::default()
    });
    // In a guest the injector stands in for the shell.
    let load = LoadRequest::Command { line: format!("exec {program} {words}"), once: false };
    RunSettings {
        interval_ns,
        duration_ns: Some(duration_ns),
        cpus: Some(vec![place.cpu()]).filter(|_| watch.is_none()),
        policy: if experiment.ordinary { Policy::Other } else { Policy::Fifo },
        priority: PRIORITY,
        limit_ns: Some(limit_ns),
        trace,
        loads: if watch.is_some() { Vec::new() } else { vec![load] },
        dither_seed: Some(seed).filter(|_| watch.is_none()),
        watch,
        ..RunSettings::default()
    }
}

/// A virtual machine that is given files before it boots, and whose injections are fetched before it is gone.
struct Guest {
    machine: QemuTarget,
    in_virtual_time: bool,
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

    fn slowdown(&self) -> u32 {
        self.machine.slowdown() * if self.in_virtual_time { VIRTUAL_TIME_SLOWDOWN } else { 1 }
    }

    fn forgets(&self) -> bool {
        self.machine.forgets()
    }

    fn caveat(&self) -> Option<Caveat> {
        let caveat = self.machine.caveat()?;
        Some(if self.in_virtual_time { Caveat::VirtualTime { realtime_permitted: true } } else { caveat })
    }

    /// A log that cannot be fetched is missing afterwards, which is an error there.
    fn close(&mut self) -> Result<(), TargetError> {
        let fetched = self.machine.fetch_file(Path::new(GUEST_LOG), &self.log);
        self.machine.close()?;
        fetched
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::find;

    #[test]
    fn an_experiment_that_fails_is_not_taken_for_one_that_was_carried_out() {
        let scratch = tempfile::tempdir().unwrap();
        let laboratory = Laboratory {
            injector: scratch.path().join("injector"),
            modules: scratch.path().join("without-machines"),
            injections: 1,
            seed: 1,
        };
        let experiment = find("rt-task").unwrap();
        let directory = scratch.path().join("rt-task");
        for _ in 0..2 {
            assert!(laboratory.carry_out(experiment, Place::VirtualTime("debian:6.1"), &directory).is_err());
            assert!(!directory.exists());
            assert!(directory.with_extension(UNFINISHED).is_dir());
        }
    }
}
