//! Changes to the machine for the run, and their restoration.

use crate::journal::{Journal, JournalError, SettingRoots, UndoError};
use crate::kernel::dma_latency::DmaLatencyRequest;
use crate::kernel::memory;
use crate::link::Link;
use crate::problem::{MeterProblem, refused};
use archive::settings::RunSettings;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Holds the journal, and the requests that end when they are dropped.
#[derive(Debug, Default)]
pub struct Machine {
    journal: Option<Journal>,
    power: Option<(i32, DmaLatencyRequest)>,
}

impl Machine {
    /// Stores the journal.
    pub fn keep(&mut self, journal: Journal) -> &mut Journal {
        self.journal.insert(journal)
    }

    /// The journal, once there is one.
    pub fn journal(&mut self) -> Option<&mut Journal> {
        self.journal.as_mut()
    }

    /// Values of the settings that this run changed, by path.
    pub fn settings(&self) -> BTreeMap<PathBuf, String> {
        self.journal.as_ref().map(Journal::settings).unwrap_or_default()
    }

    /// Value held in /dev/cpu_dma_latency, in µs.
    pub fn dma_latency_us(&self) -> Option<i32> {
        self.power.as_ref().map(|(latency_us, _)| *latency_us)
    }

    /// Restores everything; returns what could not be restored. Calls `slow` for steps that take long.
    pub fn restore(self, slow: &mut dyn FnMut(String)) -> Vec<UndoError> {
        drop(self.power);
        let mut undo = |journal: Journal| journal.undo_reporting(&mut |entry| slow(entry.describe()));
        self.journal.map(&mut undo).unwrap_or_default()
    }

    pub fn hold_power_request<W: Write>(
        &mut self,
        settings: &RunSettings,
        link: &mut Link<W>,
    ) -> Result<(), MeterProblem> {
        let Some(latency_us) = settings.cpu_dma_latency_us else { return Ok(()) };
        match DmaLatencyRequest::hold(latency_us) {
            Ok(request) => self.power = Some((latency_us, request)),
            Err(source) => return refused(settings, MeterProblem::DmaLatency { latency_us, source }, link),
        }
        Ok(())
    }
}

/// Changes the kernel settings of the plan and those that its loads need, journalled.
///
/// # Errors
/// The first one that cannot be changed; the earlier ones are in the journal.
pub fn change_settings(settings: &RunSettings, journal: &mut Journal) -> Result<(), MeterProblem> {
    let of_loads = load::settings_of(&settings.loads);
    let roots = SettingRoots::of_kernel();
    for change in of_loads.iter().chain(&settings.settings) {
        let path = Path::new(&change.path);
        if !roots.contain(path) {
            return Err(MeterProblem::NotASetting { path: change.path.clone() });
        }
        journal.change_setting(path, &change.value).map_err(|error| match error {
            JournalError::Held { path, pid } => MeterProblem::SettingHeld { path, pid },
            error => MeterProblem::Setting(error),
        })?;
    }
    Ok(())
}

/// Locks the memory of this process if requested.
///
/// # Errors
/// As [`refused`].
pub fn lock_memory<W: Write>(settings: &RunSettings, link: &mut Link<W>) -> Result<(), MeterProblem> {
    if !settings.lock_memory {
        return Ok(());
    }
    memory::lock_all().or_else(|error| refused(settings, MeterProblem::Memory(error), link))
}
