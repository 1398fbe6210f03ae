//! The kernel stops a CPU, or all of them, to change something that no CPU may execute meanwhile.

use super::about::{About, Proof};
use crate::account::ledger::Piece;
use crate::recognise::case::{Case, Claim, held};
use crate::recognise::evidence::late_in_task::is_late_in_task;
use crate::recognise::evidence::more_urgent::interferes;
use crate::replay::context::Context;
use archive::culprit::StoppedCpu;
use archive::explanation::Confidence;

pub const ABOUT: About = About {
    recognised: "a thread called migration/N has the CPU while the thread could run, or when the timer is due",
    events: &["sched_switch"],
    shows: "the thread migration/N had the CPU",
    reading: &["CPU hotplug in the Kernel", "ftrace - Function Tracer"],
    proof: Proof::Real { at_most: Confidence::Certain },
    refuted_by: &[],
};

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c, StoppedCpu>> {
    let stops = |tid: i32| case.names().comm(tid).starts_with("migration/");
    // It masks interrupts while the others are stopped, so the timer interrupt may be late, too.
    let masks = |piece: &Piece| is_late_in_task(piece) && held(piece).and_then(Context::tid).is_some_and(stops);
    let pieces = case.claim(|piece| interferes(case, piece).is_some_and(stops) || masks(piece))?;
    let (first, last) = (case.pieces[*pieces.first()?].start_ns, case.pieces[*pieces.last()?].end_ns);
    let others = case.trace.cpus.iter().filter(|activity| activity.cpu != case.cpu()).filter(|activity| {
        activity.overlapping(first, last).iter().any(|interval| interval.context.tid().is_some_and(stops))
    });
    let facts = StoppedCpu { who: case.holders(&pieces), also_on: others.map(|activity| activity.cpu).collect() };
    Some(Claim::new(pieces, Confidence::Certain, facts))
}
