//! Threads of another program whose wake-ups were watched from outside: what was requested, and what was observed.
//!
//! A watched thread has up to three series of samples, each with a number where a measuring thread has its own: totals,
//! histogram, seconds and worst samples with that number belong to the series.

pub mod chain;
pub mod group;
pub mod guard;
pub mod log;

use crate::policy::Policy;
use crate::shell;
use chain::{ChainEvent, FollowedChain};
use group::ProgramGroup;
use guard::GuardSettings;
use log::LogSource;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Length of the stretch that a watch keeps on request, in ns, as far as its trace buffers reach back.
pub const SAVED_NS: u64 = 10_000_000_000;

/// The threads to watch. Exactly one of `pid`, `comm`, `group` and `real_time` is set.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WatchSettings {
    /// A process, with its threads and everything it starts.
    pub pid: Option<i32>,
    /// Threads whose name matches this pattern (`*` and `?`), now or later.
    pub comm: Option<String>,
    /// Threads of all processes of a control group, now or later.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<ProgramGroup>,
    /// Threads with a real-time or deadline policy, of any process, now or later.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub real_time: bool,
    /// The command that was started to be watched, word by word; empty if the watched program was already running.
    pub command: Vec<String>,
    /// Longer cycles are counted as over the limit, and are spikes.
    pub cycle_limit_ns: Option<i64>,
    /// Texts whose lines are counted, in the output of the command or in `log`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub count: Vec<String>,
    /// The log whose lines are counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log: Option<LogSource>,
    /// Threads without a real-time or deadline policy count like the others.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub all_threads: bool,
    /// The stacks of the threads are sampled around late cycles.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub stacks: bool,
    /// Chains of the watched threads; the last stretch is kept when one misses its deadline.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub chains: Vec<FollowedChain>,
    /// Events that show the hand-overs of chains, and their stimuli and ends.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub chain_events: Vec<ChainEvent>,
    /// The watch stands for months, also while none of its threads exists.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub guard: Option<GuardSettings>,
    /// The process is stopped. It is continued once everything is armed, and ended with the measurement.
    pub ours: bool,
}

impl WatchSettings {
    /// The requested program or threads.
    pub fn whom(&self) -> String {
        match self {
            Self { command, .. } if !command.is_empty() => shell::line(command),
            Self { comm: Some(name), .. } => format!("threads called {name}"),
            Self { pid: Some(pid), .. } => format!("process {pid}"),
            Self { group: Some(group), .. } => group.whom(),
            Self { real_time: true, .. } => "every real-time thread".into(),
            _ => "nothing".into(),
        }
    }

    /// The same, with the program alone of a command.
    pub fn whom_in_short(&self) -> String {
        let program = self.command.first().map(Path::new).and_then(Path::file_name);
        program.map_or_else(|| self.whom(), |program| program.to_string_lossy().into_owned())
    }
}

/// Kind of the samples of a series. The earlier it is declared, the better it shows how late a thread woke.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum WatchedKind {
    /// A wake-up by a timer: from the requested instant until it was switched in.
    Timer,
    /// A wake-up by anything else: from being woken until it was switched in.
    Woken,
    /// Its work after a timer woke it: from being switched in until it set its next timer.
    Cycle,
}

impl WatchedKind {
    /// Its samples in a few words.
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
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PageFaults {
    /// Served without I/O.
    pub minor: u64,
    /// Had to wait for I/O.
    pub major: u64,
}

/// One series of one watched thread so far; a later one replaces an earlier one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WatchedSeries {
    /// Number of the series.
    pub thread: u32,
    pub kind: WatchedKind,
    pub tid: i32,
    /// Last known name of the thread.
    pub name: String,
    /// Last policy that the kernel reported; `None` if the thread ended before it could be read.
    pub policy: Option<Policy>,
    pub priority: u8,
    /// Largest slack that the kernel was allowed for this thread's timers, in ns.
    pub slack_ns_max: i64,
    /// Timers that were set after they were due: cycles that overran.
    pub late_arms: u64,
    /// `None` if the kernel did not report them.
    #[serde(default)]
    pub page_faults: Option<PageFaults>,
    /// The thread ended while it was watched.
    #[serde(default)]
    pub ended: bool,
}
