//! Workers of the kernel's work queues.

use super::about::{About, Proof};
use super::named::{NOTHING, Named, claim};
use crate::recognise::case::{Case, Claim, held};
use crate::replay::context::Context;

pub const ABOUT: About = About {
    recognised: "a thread called kworker/* has the CPU while the thread could run; workqueue_execute_start names its function",
    confirm: "workqueue:workqueue_queue_work with this function names who queued it; --tracer function on it shows where it cannot be preempted",
    fix: "a /sys/devices/virtual/workqueue/cpumask without this CPU moves unbound work; work bound to this CPU goes away only with what queues it",
    reading: &["Workqueue", "Reducing OS jitter due to per-cpu kthreads"],
    proof: Proof::Real,
};

const NAMED: Named = Named { threads: &["kworker/*"], ..NOTHING };

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c>> {
    let pieces = case.claim(|piece| NAMED.holds(case, piece))?;
    let tid = |index: usize| case.pieces[index].answer.context().tid();
    // kworker/u8:3 serves all CPUs, kworker/1:2 one.
    let bound =
        pieces.iter().filter_map(|&index| tid(index)).any(|tid| !case.names().comm(tid).starts_with("kworker/u"));
    let named = pieces.iter().any(|&index| match held(&case.pieces[index]) {
        Some(Context::Task { function, .. }) => function != 0,
        _ => false,
    });
    let mut found = claim(case, pieces, &ABOUT, "a kernel worker ran");
    found.evidence.push(match bound {
        true => "this worker is bound to this CPU: the workqueue cpumask does not move it".into(),
        false => "this worker may run on any CPU that /sys/devices/virtual/workqueue/cpumask allows".into(),
    });
    if !named {
        found.evidence.push("the trace does not show which function it executed".into());
    }
    Some(found)
}
