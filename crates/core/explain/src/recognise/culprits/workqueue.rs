//! Workers of the kernel's work queues.

use super::about::{About, Proof, WORKED};
use crate::recognise::case::{Case, Claim, held};
use crate::recognise::evidence::named::{NOTHING, Named, claim};
use crate::replay::context::Context;
use archive::culprit::Worker;
use archive::explanation::Confidence;

pub const ABOUT: About = About {
    recognised: "a thread called kworker/* has the CPU while the thread could run; workqueue_execute_start names its function",
    events: WORKED,
    shows: "the worker had the CPU after the wake-up",
    reading: &["Workqueue", "Reducing OS jitter due to per-cpu kthreads"],
    proof: Proof::Real { at_most: Confidence::Certain },
    refuted_by: &[],
};

const NAMED: Named = Named { threads: &["kworker/*"], ..NOTHING };

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c, Worker>> {
    let pieces = case.claim(|piece| NAMED.holds(case, piece))?;
    let tid = |index: usize| case.pieces[index].answer.context().tid();
    // kworker/u8:3 serves all CPUs, kworker/1:2 one.
    let is_bound =
        pieces.iter().filter_map(|&index| tid(index)).any(|tid| !case.names().comm(tid).starts_with("kworker/u"));
    let is_function_known = pieces.iter().any(|&index| match held(&case.pieces[index]) {
        Some(Context::Task { function, .. }) => function != 0,
        _ => false,
    });
    Some(claim(case, pieces).map(|named| Worker { named, is_bound, is_function_known }))
}
