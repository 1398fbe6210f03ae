//! Threads of somebody else's program whose wake-ups were watched from outside: what was asked, and what was seen.
//!
//! A watched thread has up to three series of samples, each with a number of its own where a measuring thread has one:
//! totals, histogram, seconds and worst samples of a series are those of that number.

use crate::settings::Policy;
use serde::{Deserialize, Serialize};

/// Whom to watch. One of `pid` and `comm` is given.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct WatchSettings {
    /// A process, with its threads and everything it starts.
    pub pid: Option<i32>,
    /// Threads whose name fits this pattern (`*` and `?`), now or later.
    pub comm: Option<String>,
    /// The command that was started to be watched, word by word; empty when what is watched ran before.
    pub command: Vec<String>,
    /// Cycles that take longer are counted as over the limit, and are spikes.
    pub cycle_limit_ns: Option<i64>,
    /// Texts whose lines in the output of the command are counted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub count: Vec<String>,
    /// The process waits, stopped, and is to be continued once everything is armed, and ended with the measurement.
    pub ours: bool,
}

/// What a sample of a series is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub enum WatchedKind {
    /// A wake-up by a timer: from the instant the thread had asked for until it was given the CPU.
    Timer,
    /// A wake-up by anything else: from being woken until it was given the CPU.
    Woken,
    /// What it did after a timer had woken it: from being given the CPU until it set its next timer.
    Cycle,
}

impl WatchedKind {
    /// What a sample of it measures, in a few words.
    pub fn title(self) -> &'static str {
        match self {
            Self::Timer => "timer wake-up",
            Self::Woken => "other wake-up",
            Self::Cycle => "cycle",
        }
    }
}

/// Page faults of a thread while it was watched.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct PageFaults {
    /// Served without a device.
    pub minor: u64,
    /// Had to wait for a device.
    pub major: u64,
}

/// One series of one watched thread, as far as it is known; a later one replaces an earlier one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct WatchedSeries {
    /// Number of the series.
    pub thread: u32,
    pub kind: WatchedKind,
    pub tid: i32,
    /// Name of the thread when it was last seen.
    pub name: String,
    /// As the kernel last told; `None` when the thread was gone before it could be asked.
    pub policy: Option<Policy>,
    pub priority: u8,
    /// Largest slack the kernel was allowed when it set this thread's timers, in ns.
    pub slack_ns_max: i64,
    /// Timers that were set after they were due: cycles that overran.
    pub late_arms: u64,
    /// `None` where the kernel did not tell.
    #[serde(default)]
    pub page_faults: Option<PageFaults>,
    /// The thread ended while it was watched.
    #[serde(default)]
    pub ended: bool,
}
