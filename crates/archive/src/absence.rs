//! When the host of a virtual machine did not execute one of its CPUs, as the host saw it.
//!
//! A guest cannot tell that from masked interrupts; its host can.

use serde::{Deserialize, Serialize};

/// Absences that are kept for one spike. Beyond that the longest stay.
pub const ABSENCES_MAX: usize = 256;

/// A stretch in which the host did not execute a CPU although the guest had something to do there, or in which it was
/// stopped, whatever the guest had to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Absence {
    /// Number of the CPU in the guest.
    pub cpu: u32,
    /// CLOCK_MONOTONIC of the guest, in ns.
    pub start_ns: i64,
    pub end_ns: i64,
    /// Each of the two instants is exact to so many ns, on either side. The most of it is the same for both.
    pub slack_ns: i64,
    /// The emulator was stopped: by a signal, a debugger, a frozen control group. Otherwise others had the host's CPU.
    pub stopped: bool,
}

/// What the host saw around one spike.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpikeAbsences {
    pub spike: u32,
    /// In the order of their beginning; none: the host executed every CPU whenever it wanted to run, as far as it looked.
    pub absences: Vec<Absence>,
    /// CLOCK_MONOTONIC of the host minus that of the guest, in ns, to within the slack: what the host itself recorded can
    /// be set beside the guest's record.
    pub host_minus_guest_ns: i64,
    pub slack_ns: i64,
    /// Shorter ones beyond [`ABSENCES_MAX`].
    #[serde(default)]
    pub left_out: u64,
    /// One thread of the emulator executes all CPUs in turn: while one of them records, no other is executed.
    #[serde(default)]
    pub in_turns: bool,
}
