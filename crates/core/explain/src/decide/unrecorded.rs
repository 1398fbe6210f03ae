//! How sure a claim is where another tool recorded: times are less exact, and where interrupts or softirqs are not recorded, they may
//! have had the CPU instead of a thread.

use crate::recognise::case::{Case, held};
use crate::recorder::Shown;
use crate::replay::context::Context;
use archive::explanation::Confidence;

pub fn confidence(case: &Case, pieces: &[usize]) -> Confidence {
    let precision = case.input.recorder.precision();
    let uncertain_ns = precision.map_or(0, |precision| precision.resolution_ns.max(precision.clock_spread_ns));
    if case.ns(pieces) <= uncertain_ns {
        return Confidence::Hint;
    }
    let shown = case.trace.shown;
    if shown == Shown::ALL {
        return Confidence::Certain;
    }
    let of_tasks: Vec<usize> = pieces
        .iter()
        .copied()
        .filter(|&index| matches!(held(&case.pieces[index]), Some(Context::Task { .. })))
        .collect();
    if case.ns(&of_tasks) * 2 <= case.ns(pieces) {
        return Confidence::Certain;
    }
    // An urgent thread keeps the CPU whatever interrupts it; any other one may only seem to.
    let urgent = |&&index: &&usize| {
        let piece = &case.pieces[index];
        let tid = piece.answer.context().tid().unwrap_or_default();
        tid == case.tool_threads.own_tid || case.outranks(tid, piece)
    };
    let urgent: Vec<usize> = of_tasks.iter().filter(urgent).copied().collect();
    if case.ns(&urgent) * 2 > case.ns(pieces) { Confidence::Likely } else { Confidence::Hint }
}
