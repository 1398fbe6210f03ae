//! Wake-ups of a run in virtual time that were recorded afterwards: the run was repeated exactly, with a recorder
//! outside the machine.
//!
//! They are in the file `recorded.json` beside the run and can be regenerated as long as kernel, meter and emulator are
//! available.

use crate::spike::Spike;
use serde::{Deserialize, Serialize};

/// Name of the file in the archive.
pub const RECORDED_FILE: &str = "recorded.json";
/// Version of that file.
pub const RECORDED_VERSION: u32 = 1;
/// A larger file is not read. Real ones have a hundredth of this size.
pub const RECORDED_BYTES_MAX: u64 = 64 << 20;

/// Proof of the records: the second run was identical to the first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FlightRecording {
    /// Samples of the second run, all identical to those of the first.
    pub samples_identical: u64,
    /// SHA-256 of the samples of either run, in hexadecimal.
    pub sha256: String,
}

/// The file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Recorded {
    pub recorded_version: u32,
    pub recording: FlightRecording,
    /// Each has its record below `spikes/<number, four digits>/`.
    pub spikes: Vec<Spike>,
}
