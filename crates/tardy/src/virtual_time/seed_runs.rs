//! Runs in virtual time as input of comparisons: opened with every sample, or measured seed by seed.

use super::laboratory::Laboratory;
use crate::archives;
use crate::exit::UsageError;
use account::{Account, ExplanationSource};
use anyhow::Context;
use archive::reader::Run;
use archive::samples_file;
use archive::settings::RunSettings;
use archive::summary::RunSummary;
use judge::virtual_time::SeedRun;
use std::path::{Path, PathBuf};

/// A guest has one processor, so one thread measures.
const THREAD: u32 = 0;
/// Seeds of the idle guest: its trajectory is the same for all of them, and two show that.
const IDLE_SEEDS: u32 = 2;

/// An archive with all compared values.
pub struct OpenedRun {
    account: Account,
    /// With the explanations beside the spikes.
    summary: RunSummary,
    samples: Vec<(i64, i64)>,
}

impl OpenedRun {
    /// # Errors
    /// If the run did not keep every sample.
    pub fn of(run: Run) -> anyhow::Result<Self> {
        let bytes = samples_file::bytes(&run.directory, THREAD)
            .with_context(|| format!("failed to read the samples of {}", run.directory.display()))?;
        let account = Account::of(run, ExplanationSource::StoredOrTraces);
        Ok(Self {
            summary: account.explained_summary(),
            samples: samples_file::records(&bytes).map(|record| (record.due_ns, record.latency_ns)).collect(),
            account,
        })
    }

    pub fn run(&self) -> &Run {
        self.account.run()
    }

    pub fn seed_run(&self) -> SeedRun<'_> {
        SeedRun { summary: &self.summary, samples: &self.samples, explanations: self.account.explanations() }
    }
}

/// The runs with loads, or those without.
pub fn seed_runs(runs: &[OpenedRun], idle: bool) -> Vec<SeedRun<'_>> {
    runs.iter().map(OpenedRun::seed_run).filter(|run| run.is_idle() == idle).collect()
}

/// All of them.
pub fn all_seed_runs(runs: &[OpenedRun]) -> Vec<SeedRun<'_>> {
    runs.iter().map(OpenedRun::seed_run).collect()
}

/// The archives that a name refers to: one, or all in a directory of several, as written by `tardy run --seeds`.
///
/// # Errors
/// If there is none.
pub fn archives_of(name: &Path) -> anyhow::Result<Vec<Run>> {
    let below_runs = Path::new(archives::RUNS).join(name);
    for directory in [name, &below_runs] {
        let found = archives::below(directory);
        if !found.is_empty() {
            return found.into_iter().map(|path| Ok(Run::open(path)?)).collect();
        }
    }
    Ok(vec![archives::open(name)?])
}

/// Whether a run is one in virtual time.
pub fn is_virtual(run: &Run) -> bool {
    run.manifest.as_ref().is_some_and(|manifest| manifest.virtual_time)
}

/// Opens all runs of some names.
///
/// # Errors
/// If there is none, one is not in virtual time, or one did not keep its samples.
pub fn open_all(names: &[PathBuf]) -> anyhow::Result<Vec<OpenedRun>> {
    let mut opened = Vec::new();
    for name in names {
        for run in archives_of(name)? {
            if !is_virtual(&run) {
                let text = format!("{} is not a run in virtual time", run.directory.display());
                return Err(UsageError(text).into());
            }
            opened.push(OpenedRun::of(run)?);
        }
    }
    Ok(opened)
}

/// The system to measure.
pub struct Seeds<'a> {
    pub settings: &'a RunSettings,
    pub count: u32,
    /// Measure the idle guest as well, if the settings have a load.
    pub idle_too: bool,
}

impl Seeds<'_> {
    /// Measures into new archives below a directory: `idle-0001` ..., `seed-0001` ...
    ///
    /// # Errors
    /// At the first run without usable results.
    pub fn measure(&self, laboratory: &Laboratory, directory: &Path) -> anyhow::Result<Vec<OpenedRun>> {
        let mut opened = Vec::new();
        if self.idle_too && !self.settings.loads.is_empty() {
            let idle = RunSettings { loads: Vec::new(), ..self.settings.clone() };
            self.each(&idle, self.count.min(IDLE_SEEDS), laboratory, directory, "idle", &mut opened)?;
        }
        self.each(self.settings, self.count, laboratory, directory, "seed", &mut opened)?;
        Ok(opened)
    }

    fn each(
        &self,
        settings: &RunSettings,
        count: u32,
        laboratory: &Laboratory,
        directory: &Path,
        name: &str,
        opened: &mut Vec<OpenedRun>,
    ) -> anyhow::Result<()> {
        let first = settings.dither_seed.unwrap_or_default();
        for seed in (first..).take(count as usize) {
            let settings = RunSettings { dither_seed: Some(seed), ..settings.clone() };
            let run = laboratory.run(&settings, directory.join(format!("{name}-{seed:04}")))?;
            opened.push(OpenedRun::of(run)?);
        }
        Ok(())
    }
}
