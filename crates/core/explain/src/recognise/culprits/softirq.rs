//! Softirqs: network, block, timer wheel and RCU work that interrupts defer.

use super::about::{About, Proof};
use crate::recognise::case::{Case, Claim, held};
use crate::replay::context::Context;
use archive::culprit::SoftirqWork;
use archive::explanation::Confidence;

pub const ABOUT: About = About {
    recognised: "softirq_entry to softirq_exit lies between due and seen",
    events: &["softirq_entry|sched_switch"],
    shows: "its entry and exit, or ksoftirqd on the CPU",
    reading: &["Scaling in the Linux Networking Stack", "Reducing OS jitter due to per-cpu kthreads"],
    proof: Proof::Real { at_most: Confidence::Certain },
    refuted_by: &[],
};

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c, SoftirqWork>> {
    let pieces = case.claim(|piece| matches!(held(piece), Some(Context::Softirq { .. })))?;
    let longest = pieces.iter().max_by_key(|&&index| case.pieces[index].ns());
    let softirq = longest.and_then(|&index| match case.pieces[index].answer.context() {
        Context::Softirq { vec, .. } => Some(vec),
        _ => None,
    });
    let preempt_rt = case.preempt_rt() == Some(true);
    let facts = SoftirqWork { who: case.holders(&pieces), softirq, preempt_rt };
    Some(Claim::new(pieces, Confidence::Certain, facts))
}
