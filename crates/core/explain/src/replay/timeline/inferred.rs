//! Stretches that are a thread's although no record says so, and why.

pub use archive::evidence::InferredFrom as Inference;

/// A stretch assigned to a thread by inference, in ns: to the first record of the thread from the last one of idle or from the instant at
/// which it was seen, or from its own last record to the first of the measuring thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Inferred {
    pub tid: i32,
    pub start_ns: i64,
    pub end_ns: i64,
    pub from: Inference,
}
