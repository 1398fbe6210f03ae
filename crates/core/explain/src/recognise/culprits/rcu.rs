//! RCU: callbacks, and the grace periods they wait for.

use super::about::{About, Proof};
use crate::recognise::case::{Case, Claim, held};
use crate::recognise::evidence::named::{Named, claim};
use crate::replay::context::Context;
use archive::culprit::NamedHolders;
use archive::explanation::Confidence;

pub const ABOUT: About = About {
    recognised: "the RCU softirq, a thread of RCU (rcuc/N, rcuog/N, rcuop/N, rcu_preempt), or rcu_exp_handler for another CPU holds the CPU",
    events: &["softirq_entry|sched_switch|csd_function_entry"],
    shows: "the softirq, thread or function by name",
    reading: &["NO_HZ: Reducing Scheduling-Clock Ticks", "Reducing OS jitter due to per-cpu kthreads"],
    proof: Proof::Real { at_most: Confidence::Certain },
    refuted_by: &[],
};

/// Number of the softirq.
const RCU_VEC: u32 = 9;

const NAMED: Named = Named {
    threads: &[
        "rcuc/*",
        "rcuog/*",
        "rcuop/*",
        "rcuos/*",
        "rcub/*",
        "rcu_preempt",
        "rcu_sched",
        "rcu_exp*",
        "rcu_tasks*",
    ],
    functions: &["rcu_*", "kfree_rcu_*", "wait_rcu_exp_gp", "process_srcu", "sync_rcu_exp_*"],
    interrupts: &[],
};

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c, NamedHolders>> {
    let pieces = case.claim(|piece| {
        matches!(held(piece), Some(Context::Softirq { vec: RCU_VEC, .. })) || NAMED.holds(case, piece)
    })?;
    Some(claim(case, pieces))
}
