//! Runs in virtual time, run in sequence, and their checksums.

use crate::measuring::machine;
use crate::measuring::signals::Signals;
use crate::terminal::progress::{Progress, View};
use anyhow::{Context, anyhow};
use archive::manifest::RunState;
use archive::reader::Run;
use archive::samples_file::{self, SampleRecord};
use archive::settings::RunSettings;
use machines::{KnownTarget, Target};
use runner::run::{RunRequest, TimeLimits};
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A guest has one processor, so one thread measures.
const THREAD: u32 = 0;
/// Frames arrive several times per second of guest time.
const SILENCE: Duration = Duration::from_secs(30);

/// Settings that all runs of a series share.
pub struct Laboratory<'a> {
    pub target: &'a KnownTarget,
    pub meter: &'a Path,
    pub signals: &'a Signals,
    /// The command line as typed, for the archives.
    pub command: &'a [String],
    /// Shows no progress.
    pub quiet: bool,
}

impl Laboratory<'_> {
    /// Runs once into a new archive.
    ///
    /// # Errors
    /// If nothing was measured; the archive is left as it is.
    pub fn run(&self, settings: &RunSettings, directory: PathBuf) -> anyhow::Result<Run> {
        let mut target = machine::open(self.target, self.meter, self.signals)?;
        self.run_on(target.as_mut(), settings, directory)
    }

    /// Runs once on an existing target.
    ///
    /// # Errors
    /// As [`Self::run`].
    pub fn run_on(&self, target: &mut dyn Target, settings: &RunSettings, directory: PathBuf) -> anyhow::Result<Run> {
        let request = RunRequest {
            id: directory.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            directory,
            command: self.command.to_vec(),
            tool_version: env!("CARGO_PKG_VERSION").into(),
            meter: self.meter.to_owned(),
            limits: TimeLimits::of(settings, SILENCE),
            settings: settings.clone(),
        };
        let mut progress = Progress::new(View::unless(self.quiet), settings);
        let requests = self.signals.requests();
        let outcome = runner::run::run(target, &request, requests, &mut |event| progress.event(&event));
        progress.clear();
        let outcome = outcome?;
        match outcome.state {
            RunState::Complete => Ok(Run::open(&outcome.directory)?),
            _ => Err(anyhow!(outcome.problem.map_or_else(|| "the run did not end".into(), |problem| problem.text))),
        }
    }
}

/// Every sample of a run in virtual time, and their checksum.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trajectory {
    /// SHA-256 of the file of samples, in hexadecimal.
    pub sha256: String,
    bytes: Vec<u8>,
}

impl Trajectory {
    /// # Errors
    /// If the run did not keep every sample.
    pub fn of(run: &Run) -> anyhow::Result<Self> {
        let bytes = samples_file::bytes(&run.directory, THREAD)
            .with_context(|| format!("failed to read the samples of {}", run.directory.display()))?;
        let sha256 = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Self { sha256, bytes })
    }

    pub fn samples(&self) -> impl Iterator<Item = SampleRecord> + '_ {
        samples_file::records(&self.bytes)
    }

    pub fn count(&self) -> usize {
        self.bytes.len() / samples_file::RECORD_BYTES
    }

    /// Checks that `samples` are its first samples; returns their number.
    ///
    /// # Errors
    /// The number of the first sample that differs.
    pub fn begins_with(&self, samples: &[u8]) -> Result<usize, usize> {
        let mut own = self.samples();
        let differing = samples_file::records(samples).position(|sample| own.next() != Some(sample));
        differing.map_or(Ok(samples.len() / samples_file::RECORD_BYTES), Err)
    }

    /// Number of the first sample in which two trajectories differ, and the sample of each; `None` if they are
    /// identical.
    pub fn first_difference(&self, other: &Self) -> Option<(usize, Option<SampleRecord>, Option<SampleRecord>)> {
        let (mut left, mut right) = (self.samples(), other.samples());
        (0..).map(|number| (number, left.next(), right.next())).find_map(|(number, left, right)| {
            let both_ended = left.is_none() && right.is_none();
            if left != right {
                Some(Some((number, left, right)))
            } else if both_ended {
                Some(None)
            } else {
                None
            }
        })?
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trajectory(latencies: &[i64]) -> Trajectory {
        let bytes = latencies.iter().flat_map(|ns| [1000_i64.to_le_bytes(), ns.to_le_bytes()].concat()).collect();
        Trajectory { sha256: String::new(), bytes }
    }

    #[test]
    fn the_first_difference_is_found_and_identical_ones_have_none() {
        let one = trajectory(&[1, 2, 3]);
        assert_eq!(one.first_difference(&one.clone()), None);
        let record = |latency_ns| Some(SampleRecord { due_ns: 1000, latency_ns });
        assert_eq!(one.first_difference(&trajectory(&[1, 9, 9])), Some((1, record(2), record(9))));
        assert_eq!(one.first_difference(&trajectory(&[1, 2])), Some((2, record(3), None)));
        assert_eq!((one.count(), one.samples().count()), (3, 3));
        assert_eq!(one.begins_with(&trajectory(&[1, 2]).bytes), Ok(2));
        assert_eq!(one.begins_with(&trajectory(&[1, 9]).bytes), Err(1));
        assert_eq!(one.begins_with(&trajectory(&[1, 2, 3, 4]).bytes), Err(3));
    }
}
