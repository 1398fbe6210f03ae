//! Reasons against comparing two runs, or two systems.

use archive::problem::{Code, ProblemKind};
use std::fmt;
use thiserror::Error;

/// A side of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunName {
    A,
    B,
}

impl fmt::Display for RunName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::A => "A",
            Self::B => "B",
        })
    }
}

/// Something the user must know when comparing two runs.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Caution {
    #[error("run {run} is not valid: {reasons}")]
    InvalidRun { run: RunName, reasons: String },
    #[error("run {0} is in virtual time: executed instructions, not time on hardware")]
    VirtualTime(RunName),
    #[error("run {0} was emulated: its latencies mean nothing as real-time figures")]
    Emulated(RunName),
    #[error("run {0} was imported: its tool may count something else as latency")]
    Imported(RunName),
    #[error(
        "run A recorded {} and run B {}: recording costs time, so the latencies also differ by that",
        named(.a),
        named(.b)
    )]
    Recording { a: Option<String>, b: Option<String> },
    #[error(
        "run A measured by the method {a} and run B by {b}: they measure different paths, and their latencies do not compare"
    )]
    Methods { a: String, b: String },
    #[error("run {longer} is at least twice as long: its maximum is larger for that reason alone")]
    Length { longer: RunName },
    #[error("the runs had different loads: what the loads got done is not the same work")]
    Work,
    #[error("run {0} kept no spikes: causes cannot be compared")]
    NoSpikes(RunName),
    #[error("run {0} has no late wake-up with a trace: its causes are not known")]
    NoTraces(RunName),
    #[error("the runs differ in {0}: a cause may come or go for that reason alone")]
    Circumstances(String),
    #[error("the lengths of the runs are not known: rates cannot be compared")]
    LengthUnknown,
    #[error("only one side has {0}; left out")]
    Unpaired(String),
    #[error("an archive does not say what its machine was made of: whether both are one system is not known")]
    IngredientsUnknown,
    #[error("the sides ran different loads: a difference need not come from the kernel")]
    Loads,
    #[error(
        "late wake-ups are explained in {a} of {of} runs of A and {b} of {of} of B: causes are compared only among those; \
         `tardy virtual record` explains the late wake-ups of a run"
    )]
    PartlyExplained { a: usize, b: usize, of: usize },
}

fn named(recorded: &Option<String>) -> &str {
    recorded.as_deref().unwrap_or("something unknown")
}

impl ProblemKind for Caution {
    fn code(&self) -> Code {
        Code::new(match self {
            Self::InvalidRun { .. } => "judge.invalid-run",
            Self::VirtualTime(_) => "judge.virtual-time",
            Self::Emulated(_) => "judge.emulated",
            Self::Imported(_) => "judge.imported",
            Self::Recording { .. } => "judge.different-recording",
            Self::Methods { .. } => "judge.different-methods",
            Self::Length { .. } => "judge.different-length",
            Self::Work | Self::Loads => "judge.different-loads",
            Self::NoSpikes(_) => "judge.no-spikes",
            Self::NoTraces(_) => "judge.no-traces",
            Self::Circumstances(_) => "judge.different-circumstances",
            Self::LengthUnknown => "judge.length-unknown",
            Self::Unpaired(_) => "judge.unpaired-seed",
            Self::IngredientsUnknown => "judge.ingredients-unknown",
            Self::PartlyExplained { .. } => "judge.partly-explained",
        })
    }
}
