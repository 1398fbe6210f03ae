//! Real-time throttling: real-time threads had used up their part of the period, and all of them, or of their group, wait for the next.

use super::about::{About, Proof};
use super::passed_over::PassedOver;
use crate::recognise::case::Case;
use crate::recognise::stated::{self, Claim};
use archive::culprit::Culprit;
use archive::explanation::Confidence;
use words::figures::latency;

pub const ABOUT: About = About {
    recognised: "ordinary tasks, less urgent real-time tasks of another group, or none have the CPU while the real-time thread could run, and sched_rt_period_timer expires right before it is given the CPU, on a kernel without a fair server, or the CPU was left idle",
    events: &["sched_switch", "hrtimer_expire_entry"],
    shows: "a less urgent task or none was chosen, and the period's timer ended it",
    at_most: Confidence::Certain,
    reading: &["Real-Time group scheduling"],
    proof: Proof::Real,
};

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c>> {
    let found = PassedOver::find(case)?;
    if found.is_throttling(case) != Some(true) {
        return None;
    }
    // A new period that gives the thread the CPU proves that it had none left in the one before.
    let period = found.period_began(case);
    let pieces = period.and_then(|period| found.until(case, period.ts_ns)).unwrap_or_else(|| found.pieces.clone());
    let task_ns = case.ns(&found.pieces) - found.idle_ns;
    let preferred = found.preferred(case);
    let whose = match (preferred.is_empty(), found.idle_ns) {
        (true, _) => "the CPU was left idle".to_owned(),
        (false, 0) => format!("the CPU went to {preferred}"),
        (false, idle_ns) => {
            format!("the CPU went to {preferred} for {} and was left idle for {}", latency(task_ns), latency(idle_ns))
        }
    };
    let environment = case.input.environment;
    let budget = environment.and_then(|environment| environment.rt_runtime_us.zip(environment.rt_period_us));
    let mut evidence = Vec::new();
    if let Some((runtime_us, period_us)) = budget {
        let (runtime_ns, period_ns) = (runtime_us.saturating_mul(1000), period_us.saturating_mul(1000));
        let wait_ns = period_ns.saturating_sub(runtime_ns);
        evidence.push(format!(
            "real-time threads may use {} of every {}, then wait up to {}",
            latency(runtime_ns),
            latency(period_ns),
            latency(wait_ns)
        ));
    }
    let spender = found.spender(case).map(|tid| case.names().task(tid));
    let spent = match &spender {
        Some(name) => format!("{name} had used up the budget"),
        None => "the budget was used up before the trace starts".into(),
    };
    if period.is_some() {
        evidence.push("sched_rt_period_timer began a new period, and the thread got the CPU at once".into());
    }
    let who = if found.is_of_a_group(case) {
        "no real-time thread of its control group was allowed to run"
    } else {
        "no real-time thread was allowed to run"
    };
    Some(Claim {
        confidence: if period.is_some() { Confidence::Certain } else { Confidence::Likely },
        sentence: format!("real-time throttling: {who} ({}), {spent}; {whose}", case.share(&pieces)),
        events: found.asked.into_iter().chain([found.decision]).chain(period).collect(),
        evidence,
        confirm: stated::confirm(&Culprit::RtThrottling),
        fix: stated::fix(&Culprit::RtThrottling),
        pieces,
    })
}
