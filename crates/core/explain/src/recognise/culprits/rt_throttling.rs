//! Real-time throttling: real-time threads had used up their part of the period, and all of them, or of their group, wait for the next.

use super::about::{About, Proof};
use crate::recognise::case::{Case, Claim};
use crate::recognise::evidence::passed_over::PassedOver;
use archive::culprit::{RealTimeBudget, Throttled};
use archive::explanation::Confidence;

pub const ABOUT: About = About {
    recognised: "ordinary tasks, less urgent real-time tasks of another group, or none have the CPU while the real-time thread could run, and sched_rt_period_timer expires right before it is given the CPU, on a kernel without a fair server, or the CPU was left idle",
    events: &["sched_switch", "hrtimer_expire_entry"],
    shows: "a less urgent task or none was chosen, and the period's timer ended it",
    reading: &["Real-Time group scheduling"],
    proof: Proof::Real { at_most: Confidence::Certain },
    refuted_by: &[],
};

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c, Throttled>> {
    let found = PassedOver::find(case)?;
    if found.is_throttling(case) != Some(true) {
        return None;
    }
    // A new period that gives the thread the CPU proves that it had none left in the one before.
    let period = found.period_began(case);
    let pieces = period.and_then(|period| found.until(case, period.ts_ns)).unwrap_or_else(|| found.pieces.clone());
    let environment = case.input.environment;
    let budget = environment.and_then(|environment| environment.rt_runtime_us.zip(environment.rt_period_us));
    let facts = Throttled {
        is_of_group: found.is_of_a_group(case),
        preferred: found.preferred(case),
        preferred_ns: case.ns(&found.pieces) - found.idle_ns,
        idle_ns: found.idle_ns,
        spender: found.spender(case).map(|tid| case.names().task_name(tid)),
        budget: budget.map(|(runtime_us, period_us)| RealTimeBudget { runtime_us, period_us }),
        new_period: period.is_some(),
    };
    let confidence = if period.is_some() { Confidence::Certain } else { Confidence::Likely };
    let events = found.asked.into_iter().chain([found.decision]).chain(period).collect();
    Some(Claim { events, ..Claim::new(pieces, confidence, facts) })
}
