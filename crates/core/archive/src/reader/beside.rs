//! The files beside the stream of an archive: traces and flight records of spikes, and explanations.

use super::{OpenError, Run};
use crate::directory::{ArchiveDirectory, replace_inside};
use crate::explanation::Explanation;
use crate::layout::{FLIGHT_BYTES_MAX, FileKind, TRACE_BYTES_MAX, file_path};
use crate::recorded::{FlightRecording, RECORDED_FILE, RECORDED_VERSION, Recorded};
use crate::spike::{SPIKES_MAX, Spike};
use crate::stacks::STACKS_BYTES_MAX;
use crate::write_error::WriteError;
use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;

const EXPLANATIONS: &str = "explanations.json";
/// A larger file is not read. Real ones have a hundredth of this size.
const EXPLANATIONS_BYTES_MAX: u64 = 128 << 20;

impl Run {
    /// The bytes of a spike's trace; a part of them if the file was truncated.
    ///
    /// # Errors
    /// [`OpenError::Io`] if the file does not exist or is too large.
    pub fn spike_trace(&self, number: u32) -> Result<Vec<u8>, OpenError> {
        let (path, file) = self.spike_trace_file(number)?;
        let mut bytes = Vec::new();
        let read = file.take(TRACE_BYTES_MAX).read_to_end(&mut bytes);
        read.map(|_| bytes).map_err(|source| OpenError::Io { path, source })
    }

    /// The file of a spike's trace and its path, to read only a part of it; it may be truncated.
    ///
    /// # Errors
    /// [`OpenError::Io`] if the file does not exist.
    pub fn spike_trace_file(&self, number: u32) -> Result<(PathBuf, File), OpenError> {
        let name = file_path(FileKind::SpikeTrace { spike: number });
        let partial = name.with_extension("partial");
        let opened = ArchiveDirectory::open(&self.directory).and_then(|inside| match inside.file(&name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound && inside.has(&partial) => {
                Ok((partial.clone(), inside.file(&partial)?))
            }
            opened => Ok((name.clone(), opened?)),
        });
        match opened {
            Ok((name, file)) => Ok((self.directory.join(name), file)),
            Err(source) => Err(OpenError::Io { path: self.directory.join(name), source }),
        }
    }

    /// The bytes of a spike's flight record; a part of them if the file was truncated.
    ///
    /// # Errors
    /// [`OpenError::Io`] if the file does not exist.
    pub fn flight_record(&self, number: u32) -> Result<Vec<u8>, OpenError> {
        let name = file_path(FileKind::FlightRecord { spike: number });
        let read = ArchiveDirectory::open(&self.directory).and_then(|inside| inside.read(&name, FLIGHT_BYTES_MAX));
        read.map_err(|source| OpenError::Io { path: self.directory.join(name), source })
    }

    /// The stacks of the thread of a spike, see [`crate::stacks`].
    ///
    /// # Errors
    /// [`OpenError::Io`] if the file does not exist or is too large.
    pub fn spike_stacks(&self, number: u32) -> Result<Vec<u8>, OpenError> {
        let name = file_path(FileKind::SpikeStacks { spike: number });
        let read = ArchiveDirectory::open(&self.directory).and_then(|inside| inside.read(&name, STACKS_BYTES_MAX));
        read.map_err(|source| OpenError::Io { path: self.directory.join(name), source })
    }

    /// Adds flight records of spikes, replacing existing ones, with the proof that the second run was identical.
    ///
    /// # Errors
    /// [`WriteError::Io`].
    pub fn save_recorded(&self, recording: FlightRecording, records: &[(Spike, Vec<u8>)]) -> Result<(), WriteError> {
        let spikes = records.iter().map(|(spike, _)| spike.clone()).collect();
        let recorded = Recorded { recorded_version: RECORDED_VERSION, recording, spikes };
        for (spike, bytes) in records {
            replace_inside(&self.directory, file_path(FileKind::FlightRecord { spike: spike.number }), bytes)?;
        }
        let text = serde_json::to_vec(&recorded).expect("a spike has only string keys");
        replace_inside(&self.directory, RECORDED_FILE, &text)
    }

    /// The saved explanations, if the run was explained; damaged ones count as absent.
    pub fn explanations(&self) -> Option<Vec<Explanation>> {
        let bytes = ArchiveDirectory::open(&self.directory).ok()?.read(EXPLANATIONS, EXPLANATIONS_BYTES_MAX).ok()?;
        let mut explanations: Vec<Explanation> = serde_json::from_slice(&bytes).ok()?;
        explanations.truncate(SPIKES_MAX);
        Some(explanations)
    }

    /// Saves explanations beside the run; they can be regenerated at any time.
    ///
    /// # Errors
    /// [`WriteError::Io`].
    pub fn save_explanations(&self, explanations: &[Explanation]) -> Result<(), WriteError> {
        let text = serde_json::to_vec(explanations).expect("an explanation has only string keys");
        replace_inside(&self.directory, EXPLANATIONS, &text)
    }
}
