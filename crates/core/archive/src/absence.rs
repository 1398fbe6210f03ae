//! Absences of a virtual machine's CPU: when the host did not execute it, as the host recorded.
//!
//! A guest cannot distinguish this from masked interrupts; its host can.

use serde::{Deserialize, Serialize};

/// Most absences kept per spike. Beyond that the longest are kept.
pub const ABSENCES_MAX: usize = 256;

/// A stretch in which the host did not execute a CPU although the guest had something to run there, or in which it was
/// stopped, whether or not the guest had anything to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Absence {
    /// Number of the CPU in the guest.
    pub cpu: u32,
    /// CLOCK_MONOTONIC of the guest, in ns.
    pub start_ns: i64,
    pub end_ns: i64,
    /// Error of each of the two instants in ns, in either direction. Most of it is common to both.
    pub slack_ns: i64,
    /// The emulator was stopped: by a signal, a debugger, a frozen control group. Otherwise other tasks had the host's
    /// CPU.
    pub stopped: bool,
}

/// Records of the host around one spike.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SpikeAbsences {
    pub spike: u32,
    /// In order of their start. Empty if the host always executed a CPU that was ready to run, as far as it recorded.
    pub absences: Vec<Absence>,
    /// CLOCK_MONOTONIC of the host minus that of the guest, in ns, to within the slack. It aligns records of the host
    /// with those of the guest.
    pub host_minus_guest_ns: i64,
    pub slack_ns: i64,
    /// Number of shorter absences dropped beyond [`ABSENCES_MAX`].
    #[serde(default)]
    pub left_out: u64,
    /// One thread of the emulator executes all CPUs in turn: while one CPU is executed, no other is.
    #[serde(default)]
    pub in_turns: bool,
}
