//! The ledger by stretches, for drawing it on a time line.

use crate::read::window::Window;
use crate::replay::recorded::Recorded;
use crate::{Account, SpikeInput};
use archive::explanation::{OwnerKind, PhaseName};

/// A part of the wake-up with one phase and one owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stretch {
    pub phase: PhaseName,
    /// CPU on which the wake-up was meanwhile.
    pub cpu: u32,
    /// CLOCK_MONOTONIC, in ns.
    pub start_ns: i64,
    pub end_ns: i64,
    pub kind: OwnerKind,
    /// The name of the owner in the ledger.
    pub name: String,
}

/// The ledger from due to seen without gaps, in order of time; its lengths sum to the latency. Empty if the trace has
/// no record or the sample is not plausible.
pub fn stretches(input: &SpikeInput) -> Vec<Stretch> {
    let Some(window) = Window::of(input.spike, input.interval_ns) else { return Vec::new() };
    let opened = Recorded::new(input.trace, window);
    if !opened.has_records() {
        return Vec::new();
    }
    let trace = opened.trace(input, window);
    let account = Account::of(input, &trace);
    let pieces = account.pieces.iter().map(|piece| Stretch {
        phase: piece.phase,
        cpu: piece.cpu,
        start_ns: piece.start_ns,
        end_ns: piece.end_ns,
        kind: piece.answer.kind(&account.tool_threads, &trace.names),
        name: piece.answer.name(&trace.names),
    });
    pieces.collect()
}
