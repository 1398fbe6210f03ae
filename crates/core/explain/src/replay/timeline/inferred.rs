//! Stretches that are a thread's although no record says so, and why.

/// Why a stretch must be a thread's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Inference {
    /// Idle was asked to yield, and the thread was the one to choose.
    IdleGaveWay,
    /// The thread could not be preempted, and the measuring thread came next.
    PreemptionDisabled,
    /// Idle was asked to yield to the measuring thread, which is known to have had the CPU at the beginning of the stretch.
    OwnWasSeen,
}

/// A stretch assigned to a thread by inference, in ns: to the first record of the thread from the last one of idle or from the instant at
/// which it was seen, or from its own last record to the first of the measuring thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Inferred {
    pub tid: i32,
    pub start_ns: i64,
    pub end_ns: i64,
    pub from: Inference,
}
