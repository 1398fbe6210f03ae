//! Words about rt-throttling: real-time throttling.

use super::{Advice, FindingWords};
use crate::figures::latency;
use crate::holders::{preferred, task};
use crate::voice::Share;
use archive::culprit::{RealTimeBudget, Throttled};

pub const ADVICE: Advice = Advice {
    title: "real-time throttling",
    confirm: "dmesg says `sched: RT throttling activated`, once a boot; kernel.sched_rt_runtime_us of each kernel.sched_rt_period_us are allowed",
    fix: "fix the real-time task that uses 95 % of a CPU; then, with care, sysctl kernel.sched_rt_runtime_us=-1; in a control group of version 1, a larger cpu.rt_runtime_us",
};

pub fn words(facts: &Throttled, share: Share) -> FindingWords {
    let who = match facts.is_of_group {
        true => "no real-time thread of its control group was allowed to run",
        false => "no real-time thread was allowed to run",
    };
    let spent = match &facts.spender {
        Some(spender) => format!("{} had used up the budget", task(spender)),
        None => "the budget was used up before the trace starts".into(),
    };
    FindingWords {
        evidence: evidence(facts),
        ..ADVICE.with(format!("real-time throttling: {who} ({share}), {spent}; {}", went_to(facts)))
    }
}

/// The state of the CPU meanwhile.
fn went_to(facts: &Throttled) -> String {
    match (&facts.preferred, facts.idle_ns) {
        (None, _) => "the CPU was left idle".into(),
        (Some(tasks), 0) => format!("the CPU went to {}", preferred(tasks)),
        (Some(tasks), idle_ns) => format!(
            "the CPU went to {} for {} and was left idle for {}",
            preferred(tasks),
            latency(facts.preferred_ns),
            latency(idle_ns)
        ),
    }
}

fn evidence(facts: &Throttled) -> Vec<String> {
    let period = "sched_rt_period_timer began a new period, and the thread got the CPU at once";
    facts.budget.map(budget).into_iter().chain(facts.new_period.then(|| period.into())).collect()
}

fn budget(budget: RealTimeBudget) -> String {
    let (runtime_ns, period_ns) = (budget.runtime_us.saturating_mul(1000), budget.period_us.saturating_mul(1000));
    format!(
        "real-time threads may use {} of every {}, then wait up to {}",
        latency(runtime_ns),
        latency(period_ns),
        latency(period_ns.saturating_sub(runtime_ns))
    )
}
