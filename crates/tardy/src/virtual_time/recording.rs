//! Repeats a run in virtual time with a recorder outside the machine, and explains its worst wake-ups from the recorded
//! execution.

pub mod again;
pub mod choice;
pub mod symbols;

use crate::exit::UsageError;
use crate::measuring::signals::Signals;
use account::{Account, ExplanationSource, FlightArchiver};
use again::Again;
use anyhow::{Context, anyhow};
use archive::reader::Run;
use archive::recorded::FlightRecording;
use archive::spike::Spike;
use choice::Wanted;
use machines::flight_recorder;
use machines::meter_places::MeterPlaces;
use std::path::PathBuf;

/// The request.
pub struct Recording<'a> {
    pub wanted: Wanted,
    pub target: Option<&'a str>,
    /// Show no progress on the terminal.
    pub silent: bool,
}

/// Records wake-ups of a run and explains them; returns the archive, which contains them from then on.
///
/// # Errors
/// If the second run differs from the first, or cannot be made. The archive is unchanged then.
pub fn record(run: &Run, recording: &Recording, command: &[String], signals: &Signals) -> anyhow::Result<PathBuf> {
    let again = Again::of(run, recording.target)?;
    let spikes = choice::spikes(run, &recording.wanted)?;
    let recorder = flight_recorder::find()?;
    let meter = MeterPlaces::of_process().find()?;
    let cycles = spikes.iter().map(|spike| spike.sample.cycle).collect();
    let symbols =
        symbols::of(&again, &meter, signals).context("failed to learn the names of the kernel's functions")?;
    let second = again.run(&meter, &recorder, cycles, command, signals, recording.silent)?;
    let samples_identical = second.compare(run)?;
    let archiver = FlightArchiver::new(symbols);
    let mut records: Vec<(Spike, Vec<u8>)> = Vec::new();
    for spike in spikes {
        let path = second.record(spike.sample.cycle);
        let file = std::fs::read(&path).with_context(|| format!("failed to read {}", path.display()))?;
        let kept = archiver
            .keep(&file, &spike, again.machine.instruction_shift.into())
            .ok_or_else(|| anyhow!("the record of wake-up {} is damaged", spike.sample.cycle))?;
        records.push((spike, kept));
    }
    run.save_recorded(FlightRecording { samples_identical, sha256: second.sha256()? }, &records)?;
    let recorded = Account::open(&run.directory, ExplanationSource::Traces)?;
    recorded.save_explanations()?;
    Ok(run.directory.clone())
}

/// The error for a run that cannot be repeated.
fn not_again(why: &str) -> anyhow::Error {
    UsageError(format!("failed to make the run again: {why}")).into()
}
