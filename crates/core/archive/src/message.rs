//! Messages of a run: everything a meter reports, in order.
//!
//! Messages are JSON inside [`crate::frame`]s, so a reader of another version skips what it does not know.

use crate::absence::SpikeAbsences;
use crate::counted::OutputCounts;
use crate::counters::CounterSecond;
use crate::effective::EffectiveSettings;
use crate::energy::EnergyUse;
use crate::environment::Environment;
use crate::histogram::Histogram;
pub use crate::layout::FileKind;
pub use crate::loss::{Loss, LossKind};
use crate::planned::PlannedStep;
pub use crate::problem::{Problem, Severity};
use crate::roles::RoleFigures;
use crate::sample::{Sample, Second, Totals};
use crate::second_records::PackedSeconds;
use crate::spike::Spike;
use crate::stimulus::StimulusBoard;
use crate::tracer::{KernelSeries, LatencyTrace};
use crate::watched::WatchedSeries;
use serde::{Deserialize, Serialize};

/// A step of the run on the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum RunPhase {
    Check,
    Prepare,
    Load,
    Settle,
    Measure,
    Collect,
    Restore,
}

/// Progress of one thread, for display only: totals come in [`Message::Thread`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ThreadProgress {
    pub thread: u32,
    pub cpu: u32,
    pub cycles: u64,
    pub latency_ns_last: i64,
    pub latency_ns_max: i64,
    pub missed_periods: u64,
}

/// State of a load.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LoadReport {
    pub name: String,
    /// The unit of progress: `messages`, `entries`, `bytes`, `faults`, `rounds`, `CPU ticks`.
    pub unit: String,
    pub progress: u64,
    pub alive: bool,
    /// Why it is not alive; empty while it is.
    #[serde(default)]
    pub detail: String,
}

/// How the measurement ended, as the meter knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Ending {
    Complete,
    /// A signal or the host asked to stop.
    Stopped,
    /// The connection to the host was lost.
    LinkLost,
    /// The measurement failed.
    Failed,
}

/// A message of the meter, unless stated otherwise.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Message {
    Hello {
        stream_version: u32,
        meter_version: String,
        pid: i32,
        boot_id: String,
        /// CLOCK_REALTIME and CLOCK_MONOTONIC of the target, read together, in ns.
        realtime_ns: i64,
        monotonic_ns: i64,
    },
    /// Sent by the host, before any other message; only the first one counts.
    Planned(Box<PlannedStep>),
    Environment(Box<Environment>),
    Effective(Box<EffectiveSettings>),
    Phase {
        phase: RunPhase,
        monotonic_ns: i64,
    },
    Progress {
        threads: Vec<ThreadProgress>,
        snapshots: u32,
    },
    Seconds(Vec<Second>),
    /// Written by the host instead of [`Self::Seconds`] into the archive of a long run.
    PackedSeconds(PackedSeconds),
    /// State of one thread so far; a later message replaces an earlier one.
    Thread {
        thread: u32,
        cpu: u32,
        totals: Totals,
        histogram: Histogram,
        /// The worst samples, largest first.
        worst: Vec<Sample>,
    },
    Spike(Box<Spike>),
    /// A spike whose files the receiver may delete: larger ones replaced it.
    SpikeDropped {
        number: u32,
        why: String,
    },
    /// Sent by the host of a virtual machine, after the spike.
    Absences(SpikeAbsences),
    FileBegin {
        file: u32,
        kind: FileKind,
    },
    FileEnd {
        file: u32,
        bytes: u64,
    },
    Loads(Vec<LoadReport>),
    /// Counts of the kernel, each stretch once.
    Counters(Vec<CounterSecond>),
    /// Energy from before the first wake-up to after the last one, once. None: the machine counts none that may be read.
    Energy(Vec<EnergyUse>),
    /// A stretch that a kernel latency tracer recorded.
    LatencyTrace(Box<LatencyTrace>),
    /// Figures of the kernel's own sources so far; a later series of the same name and CPU replaces an earlier one.
    KernelSeries(Vec<KernelSeries>),
    /// Series of watched threads; a later message about a series replaces an earlier one.
    Watched(Vec<WatchedSeries>),
    /// Said by the host that started the watched command and reads what it prints.
    OutputCounts(OutputCounts),
    /// Said by the host, which asks the board; a later message replaces an earlier one.
    StimulusBoard(Box<StimulusBoard>),
    /// Said by the host at the end, of each other machine of the measurement.
    Role(Box<RoleFigures>),
    Loss(Loss),
    Problem(Problem),
    End {
        ending: Ending,
        monotonic_ns: i64,
    },
}
