//! One run of a series into an archive, with the resources that all its runs share.

use crate::measuring::machine;
use crate::measuring::signals::Signals;
use crate::terminal::progress::{Progress, View};
use archive::planned::PlannedStep;
use archive::reader::Run;
use archive::settings::RunSettings;
use judge::coin::{Coin, SEED_MAX};
use machines::{KnownTarget, Target};
use runner::run::{RunRequest, TimeLimits};
use std::fs;
use std::io::{self, IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;
use words::printable::printable;

/// Needs of every run of a series.
#[derive(Clone)]
pub struct Measuring {
    pub meter: PathBuf,
    pub signals: Signals,
    pub silence: Duration,
    /// Show no progress.
    pub quiet: bool,
    /// The command line as typed, for the manifests.
    pub command: Vec<String>,
}

impl Measuring {
    pub fn stopped(&self) -> bool {
        self.signals.requests().count() > 0
    }

    /// Reports the next step if standard error is a terminal.
    pub fn report(&self, line: &str) {
        if !self.quiet && io::stderr().is_terminal() {
            complain!("{}", printable(line));
        }
    }

    /// Measures once and opens the archive.
    ///
    /// # Errors
    /// If no archive was written.
    pub fn run(&self, target: &KnownTarget, settings: RunSettings, directory: &Path) -> anyhow::Result<Run> {
        let mut target = machine::open(target, &self.meter, &self.signals)?;
        self.run_on(target.as_mut(), None, settings, self.silence, directory)
    }

    /// Measures once on this machine, as the step of a plan, and opens the archive. `silence`: the longest time that
    /// the meter may send nothing.
    ///
    /// # Errors
    /// If no archive was written.
    pub fn run_on(
        &self,
        target: &mut dyn Target,
        planned: Option<&PlannedStep>,
        settings: RunSettings,
        silence: Duration,
        directory: &Path,
    ) -> anyhow::Result<Run> {
        let request = self.request(settings, silence, directory);
        let mut progress = Progress::new(View::unless(self.quiet), &request.settings);
        let requests = self.signals.requests();
        let outcome = runner::run::run_step(target, &request, planned, requests, &mut |event| progress.event(&event));
        progress.clear();
        Ok(Run::open(&outcome?.directory)?)
    }

    /// The request to the runner for one run.
    pub fn request(&self, settings: RunSettings, silence: Duration, directory: &Path) -> RunRequest {
        RunRequest {
            id: directory.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            directory: directory.to_owned(),
            command: self.command.clone(),
            tool_version: env!("CARGO_PKG_VERSION").into(),
            meter: self.meter.clone(),
            limits: TimeLimits::of(&settings, silence),
            settings,
        }
    }
}

/// The default seed: from the kernel, or from the clock if the kernel provides none.
pub fn system_seed(now: Duration) -> u64 {
    let mut bytes = [0; 8];
    let read = fs::File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bytes));
    let seed = if read.is_ok() { u64::from_le_bytes(bytes) } else { Coin::new(now.as_nanos() as u64).next_u64() };
    seed & SEED_MAX
}
