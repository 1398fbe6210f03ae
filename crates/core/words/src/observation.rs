//! Observations that decide why a wake-up was late, and how to make them.

use serde::Serialize;

/// An observation that would show a cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Observation {
    /// The trace around the wake-up.
    Trace,
    /// The events that the trace lost.
    CompleteTrace,
    /// The functions that ran.
    Functions,
    /// Time that firmware takes.
    Firmware,
    /// Tasks that the host of a virtual machine ran.
    Host,
    /// More wake-ups of the same kind.
    Samples,
}

impl Observation {
    /// How to make it.
    pub fn how(self) -> &'static str {
        match self {
            Self::Trace => "measure with `tardy run`, which keeps the trace of each new maximum",
            Self::CompleteTrace => "measure with larger trace buffers: `tardy run --buffer-kb KB`",
            Self::Functions => "record functions: `tardy run --tracer function`, or `tardy run --stack` at less cost",
            Self::Firmware => {
                "measure the time of firmware: `tardy run --source hwlat`, on the host of a virtual machine"
            }
            Self::Host => "trace the host of the virtual machine at the same time",
            Self::Samples => "measure for longer, and compare the causes of more late wake-ups",
        }
    }
}
