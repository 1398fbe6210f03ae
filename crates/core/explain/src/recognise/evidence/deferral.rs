//! A timer interrupt that the kernel deferred.

use crate::recognise::case::Case;
use crate::replay::timer_deferral::Deferral;
use archive::evidence::Evidence;

/// The instants that a deferral is known by.
pub fn shown(case: &Case, deferral: &Deferral) -> Evidence {
    Evidence::Deferral {
        entered_ns: deferral.entered_ns.saturating_sub(case.trace.window.due_ns),
        executed_ns: deferral.interrupt_ns(),
        deferred_ns: deferral.end_ns - deferral.start_ns,
    }
}
