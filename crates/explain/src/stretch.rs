//! The ledger stretch by stretch, for those who draw it on a line of time.

use crate::opened::Opened;
use crate::window::Window;
use crate::{SpikeInput, Understood};
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
    /// As the owner is called in the ledger.
    pub name: String,
}

/// The ledger from due to seen without a hole, in order of time; its lengths sum to the latency. Empty when the trace
/// has no record or the sample makes no sense.
pub fn stretches(input: &SpikeInput) -> Vec<Stretch> {
    let Some(window) = Window::of(input.spike, input.interval_ns) else { return Vec::new() };
    let opened = Opened::new(input.trace, window);
    if !opened.has_records() {
        return Vec::new();
    }
    let scene = opened.scene(input.spike, window);
    let understood = Understood::of(input, &scene);
    let pieces = understood.pieces.iter().map(|piece| Stretch {
        phase: piece.phase,
        cpu: piece.cpu,
        start_ns: piece.start_ns,
        end_ns: piece.end_ns,
        kind: piece.answer.kind(&understood.household, &scene.names),
        name: piece.answer.name(&scene.names),
    });
    pieces.collect()
}
