//! Claims about measurements in virtual time.

use crate::difference::Difference;
use crate::figure_name::FigureName;
use archive::culprit::Culprit;
use archive::problem::Remark;
use serde::{Deserialize, Serialize};

/// The time that tracing added.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TracingCost {
    /// Number of wake-ups in both runs.
    pub pairs: usize,
    /// How much later all wake-ups of the traced run were due: arming a trace takes time.
    pub began_later_ns: i64,
    /// Medians of the paired wake-ups, in ns; the lower of two middle ones.
    pub median_ns: i64,
    pub median_traced_ns: i64,
    pub least_ns: i64,
    pub least_traced_ns: i64,
    /// The first wake-up that must differ: it comes earlier although tracing only adds instructions. `None` if all may
    /// correspond.
    pub parted_at: Option<TracedWakeUp>,
    /// The requested wake-ups.
    pub late: Vec<TracedWakeUp>,
    pub sentences: Vec<String>,
}

/// A wake-up in both runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TracedWakeUp {
    /// Its index in the run without tracing, from 0.
    pub cycle: u64,
    pub latency_ns: i64,
    /// `None` if the traced run missed it.
    pub traced_ns: Option<i64>,
}

/// Result of a limit over the seeds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LimitOutcome {
    pub limit: String,
    pub holds: bool,
    /// Seeds that break it.
    pub broken_in: Vec<u64>,
    pub sentence: String,
}

/// A cause, comparable between both sides.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Cause {
    /// `None` if nothing explains the sample.
    pub culprit: Option<Culprit>,
    /// The function in which the occupant of the CPU spent most of that time; `None` if no function is known.
    pub function: Option<String>,
}

/// A cause on both sides.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CauseShift {
    pub cause: Cause,
    /// Callers of the function where it held the CPU longest, the nearest first.
    pub called_by: Vec<String>,
    /// Longest on each side over all seeds, in ns; `None` if a side does not have the cause.
    pub a_ns: Option<i64>,
    pub b_ns: Option<i64>,
    /// How much longer B's longest is; all of it if A does not have the cause.
    pub longer_ns: i64,
    /// Number of seeds with the cause on each side.
    pub seeds_a: usize,
    pub seeds_b: usize,
    /// Number of seeds in which B's is longer than A's, and in which it is shorter.
    pub longer_in: usize,
    pub shorter_in: usize,
    pub sentence: String,
}

/// The kind of figure that moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DriftKind {
    Figure,
    /// Reported but not a failure: which causes the worst samples have changes with every trajectory.
    Cause,
    /// The runs do not have the expected seeds or settings.
    Plan,
}

/// One thing that moved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moved {
    pub kind: DriftKind,
    /// Whether the change exceeds the tolerance.
    pub fails: bool,
    pub sentence: String,
}

/// Deviation of runs from a baseline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Drift {
    pub virtual_time: bool,
    /// Whether every figure of every seed equals the expected one.
    pub identical: bool,
    pub fails: bool,
    pub moved: Vec<Moved>,
}

/// Smallest, median and largest of a figure over the seeds, in ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spread {
    pub least_ns: i64,
    pub median_ns: i64,
    pub most_ns: i64,
}

/// One figure on both sides.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FigureShift {
    pub name: FigureName,
    pub a: Spread,
    pub b: Spread,
    /// B minus A, seed by seed.
    pub shift: Spread,
    /// Number of seeds in which B's is larger, and in which it is smaller.
    pub longer_in: usize,
    pub shorter_in: usize,
    /// P-value of the exact sign test over the seeds, corrected for the number of figures (Holm).
    pub p_adjusted: f64,
    pub differs: bool,
}

/// Comparison of two systems, or of one system with itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct VirtualComparison {
    /// Always true: no figure here is hardware time.
    pub virtual_time: bool,
    /// Whether both sides are one system, so that every sample must be identical.
    pub same_system: bool,
    /// Whether the runs had no load: figures compare to the nanosecond.
    pub idle: bool,
    /// Seeds that both sides have.
    pub seeds: Vec<u64>,
    /// Seeds of one side only; they are left out.
    pub unpaired: Vec<u64>,
    /// Number of seeds whose samples are identical on both sides.
    pub identical: usize,
    /// Where two runs of one system with one seed diverge: a defect of determinism.
    pub defect: Option<FirstDifference>,
    pub figures: Vec<FigureShift>,
    pub causes: Vec<CauseShift>,
    pub differences: Vec<Difference>,
    pub cautions: Vec<Remark>,
    /// The results, one sentence each.
    pub sentences: Vec<String>,
}

/// The first sample in which two runs differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FirstDifference {
    pub seed: u64,
    /// Index of the sample, from 0.
    pub sample: usize,
    /// Due instant and latency in ns; `None` if a run has no such sample.
    pub a: Option<(i64, i64)>,
    pub b: Option<(i64, i64)>,
}
