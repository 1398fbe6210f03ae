//! The account of one spike: ledger, culprits, evidence, and the picture of what ran on the CPUs.

use crate::caveat::Caveat;
use crate::culprit::{Culprit, Facts, all_known, if_known};
use crate::evidence::Evidence;
use crate::functions::FunctionAccount;
pub use crate::mark::{Mark, MarkKind};
use crate::other_cpus::OtherCpus;
use crate::own_code::OwnCode;
pub use crate::owner::{Owner, OwnerKind};
use crate::recorded::FlightRecording;
use serde::{Deserialize, Serialize};

/// A phase of a wake-up from due to seen, in this order; absent phases took no time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum PhaseName {
    /// The timer was armed after the wake-up was due: the previous cycle overran.
    LateArm,
    /// From due (or armed) until the timer interrupt was entered.
    TimerDelay,
    /// Inside the timer interrupt until the thread's timer was handled.
    Handler,
    /// From the expiry of the timer, or from the stimulus of another thread, until the thread was runnable.
    WakePath,
    /// From runnable until the thread was switched in.
    SchedulingDelay,
    /// From being switched in until it read the clock.
    ReturnToUser,
    /// A watched thread ran on the CPU and did its work.
    Working,
    /// A watched thread was runnable but did not run.
    Preempted,
    /// A watched thread blocked in the middle of its work.
    Waiting,
    /// The trace does not show the phase of this stretch.
    Untraced,
}

impl PhaseName {
    /// The phase in words.
    pub fn title(self) -> &'static str {
        match self {
            Self::LateArm => "late arm",
            Self::TimerDelay => "timer interrupt delay",
            Self::Handler => "timer handler",
            Self::WakePath => "wake path",
            Self::SchedulingDelay => "scheduling delay",
            Self::ReturnToUser => "return to user",
            Self::Working => "at work",
            Self::Preempted => "preempted",
            Self::Waiting => "waiting",
            Self::Untraced => "untraced",
        }
    }
}

/// One phase and its owners; `ns` is the sum of the owners.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Phase {
    pub name: PhaseName,
    pub ns: i64,
    /// Largest first.
    pub owners: Vec<Owner>,
}

/// How sure a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Confidence {
    /// Only counters or configuration suggest it.
    Hint,
    /// A correlated event lies inside the window.
    Likely,
    /// Events bracket the time.
    Certain,
}

/// A culprit that explains a part of a ledger: facts, and until every reader uses them their words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Finding {
    /// Stable identifier, `blocking-task`.
    pub culprit: Culprit,
    /// One sentence that names the culprit and its share.
    pub sentence: String,
    pub confidence: Confidence,
    /// The part of the ledger that it explains, in ns.
    pub ns: i64,
    /// `None` in archives of older versions, and if a newer version wrote facts that this one does not know.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "if_known")]
    pub facts: Option<Facts>,
    /// Records of the trace and figures that show it.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "all_known")]
    pub evidence_facts: Vec<Evidence>,
    /// Lines of the trace and figures that show it.
    pub evidence: Vec<String>,
    /// How to confirm it.
    pub confirm: String,
    /// The change that avoids it.
    pub fix: String,
}

impl Finding {
    /// A finding without facts, evidence and words.
    pub fn new(culprit: Culprit, confidence: Confidence, ns: i64) -> Self {
        Self {
            culprit,
            sentence: String::new(),
            confidence,
            ns,
            facts: None,
            evidence_facts: Vec::new(),
            evidence: Vec::new(),
            confirm: String::new(),
            fix: String::new(),
        }
    }
}

/// The verdict over the findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum ExplanationStatus {
    /// Findings account for at least 70 % of the excess over the median.
    Explained,
    /// Findings account for less; `findings` are the best hints.
    NotExplained,
    /// There was no trace to explain it from.
    NoTrace,
}

/// A stretch of one CPU in the picture, relative to the due instant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Segment {
    pub start_ns: i64,
    pub end_ns: i64,
    pub kind: OwnerKind,
    pub name: String,
}

/// The stretches of one CPU around the spike.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Lane {
    pub cpu: u32,
    /// Ascending, without overlap.
    pub segments: Vec<Segment>,
}

/// A phase boundary in the picture, relative to the due instant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PhaseSpan {
    pub name: PhaseName,
    pub start_ns: i64,
    pub end_ns: i64,
}

/// The account of one spike. `phases` sum to `latency_ns` to the nanosecond.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Explanation {
    pub spike: u32,
    pub latency_ns: i64,
    /// Median latency of the spike's CPU over the run, in ns.
    pub median_ns: i64,
    pub status: ExplanationStatus,
    pub phases: Vec<Phase>,
    /// The largest first; never a cause without evidence.
    pub findings: Vec<Finding>,
    pub spans: Vec<PhaseSpan>,
    pub lanes: Vec<Lane>,
    /// Instants in the picture, ascending.
    #[serde(default)]
    pub marks: Vec<Mark>,
    /// The part of the other CPUs in it, and their work meanwhile. Empty in archives of older versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "all_known")]
    pub elsewhere_facts: Vec<OtherCpus>,
    /// The same, one sentence each.
    #[serde(default)]
    pub elsewhere: Vec<String>,
    /// `None` if the trace has neither functions nor stacks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub functions: Option<FunctionAccount>,
    /// `None` without samples of its stack.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_code: Option<OwnCode>,
    /// Set if it was recorded in virtual time from outside the machine: the recording added no time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recording: Option<FlightRecording>,
    /// Lost events, missing coverage, absent event types: what limits this account.
    pub caveats: Vec<Caveat>,
}
