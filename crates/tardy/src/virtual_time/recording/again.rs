//! A run that is repeated with the recorder and compared with the first.

use super::super::laboratory::{Laboratory, Trajectory};
use super::not_again;
use crate::measuring::signals::Signals;
use anyhow::{Context, anyhow};
use archive::reader::Run;
use archive::samples_file::SampleRecord;
use archive::settings::RunSettings;
use machines::KnownTarget;
use machines::qemu::kernel;
use machines::qemu::machine_file::VirtualMachine;
use machines::qemu::virtual_time::{Recording, VirtualTimeTarget};
use machines::target_file::TargetFileError;
use std::fs;
use std::path::{Path, PathBuf};

/// Suffix of the name of a target in virtual time in an archive.
const SUFFIX: &str = " (virtual time)";
/// Directory in the archive during the second run. Hidden, so that it is not taken for a run.
const SCRATCH: &str = ".again";

/// The input for repeating a run.
pub struct Again {
    pub target: KnownTarget,
    pub machine: VirtualMachine,
    pub settings: RunSettings,
    scratch: PathBuf,
}

/// The second run.
pub struct Second {
    run: Run,
    recording: Recording,
    scratch: PathBuf,
}

impl Again {
    /// # Errors
    /// If the run was not in virtual time, or its target is gone.
    pub fn of(run: &Run, target: Option<&str>) -> anyhow::Result<Self> {
        let manifest = run.manifest.as_ref().ok_or_else(|| not_again("the archive has no manifest"))?;
        if !manifest.virtual_time {
            return Err(not_again(
                "it was not made in virtual time, where alone a run repeats; `tardy explain` shows its snapshots",
            ));
        }
        let settings = manifest.settings.clone().ok_or_else(|| not_again("the archive has no settings"))?;
        if settings.watch.is_some() {
            return Err(not_again(
                "it watched a program, of which it did not keep every wake-up; `tardy explain` shows its snapshots",
            ));
        }
        let named = manifest.target.strip_suffix(SUFFIX).unwrap_or(&manifest.target);
        let name = target.unwrap_or(named);
        let unusable = |error: TargetFileError| {
            not_again(&format!("{error}; --target names another of the same kernel and settings"))
        };
        let target = KnownTarget::find(name).map_err(unusable)?;
        let machine = target.virtual_machine().map_err(unusable)?.clone();
        if !target.is_in_virtual_time() {
            return Err(not_again(&format!("target {name} is not in virtual time")));
        }
        Ok(Self { target, machine, settings, scratch: run.directory.join(SCRATCH) })
    }

    /// The machine, not started.
    pub fn target(&self, meter: &Path) -> anyhow::Result<VirtualTimeTarget> {
        let cache = kernel::cache()?;
        Ok(VirtualTimeTarget::new(self.target.name(), self.machine.clone(), meter, &cache))
    }

    /// Repeats the run and records the wake-ups with these numbers.
    ///
    /// # Errors
    /// If nothing was measured.
    pub fn run(
        &self,
        meter: &Path,
        plugin: &Path,
        wake_ups: Vec<u64>,
        command: &[String],
        signals: &Signals,
        quiet: bool,
    ) -> anyhow::Result<Second> {
        let _ = fs::remove_dir_all(&self.scratch);
        fs::create_dir(&self.scratch).with_context(|| format!("failed to make {}", self.scratch.display()))?;
        let scratch = std::path::absolute(&self.scratch)?;
        let recording = Recording { plugin: plugin.to_owned(), prefix: scratch.join("flight"), wake_ups };
        let mut target = self.target(meter)?.recording(recording.clone());
        let laboratory = Laboratory { target: &self.target, meter, signals, command, quiet };
        let made = laboratory.run_on(&mut target, &self.settings, scratch.join("run"));
        match made {
            Ok(run) => Ok(Second { run, recording, scratch }),
            Err(error) => {
                let _ = fs::remove_dir_all(&scratch);
                Err(error)
            }
        }
    }
}

impl Second {
    /// Path of the record of a wake-up.
    pub fn record(&self, wake_up: u64) -> PathBuf {
        self.recording.path(wake_up)
    }

    pub fn sha256(&self) -> anyhow::Result<String> {
        Ok(Trajectory::of(&self.run)?.sha256)
    }

    /// Compares every sample; returns their number.
    ///
    /// # Errors
    /// If one differs. The recording then belongs to another trajectory and is not used.
    pub fn compare(&self, first: &Run) -> anyhow::Result<u64> {
        let (first, second) = (Trajectory::of(first)?, Trajectory::of(&self.run)?);
        match first.first_difference(&second) {
            None => Ok(second.count() as u64),
            Some((number, before, now)) => Err(anyhow!(
                "the second run is not the first, so its records are not used: wake-up {number} was {} and is {}. Another \
                 build of the meter, kernel, QEMU or target file makes another trajectory; run again, then record",
                late(before),
                late(now)
            )),
        }
    }
}

impl Drop for Second {
    fn drop(&mut self) {
        // Everything needed from it is in the archive by then.
        let _ = fs::remove_dir_all(&self.scratch);
    }
}

fn late(sample: Option<SampleRecord>) -> String {
    sample.map_or("missing".into(), |sample| format!("{} ns late at {} ns", sample.latency_ns, sample.due_ns))
}
