//! Softirqs: network, block, timer wheel and RCU work that interrupts defer.

use super::about::{About, Proof};
use crate::recognise::case::{Case, Claim, held};
use crate::replay::context::Context;
use archive::explanation::Confidence;

pub const ABOUT: About = About {
    recognised: "softirq_entry to softirq_exit lies between due and seen",
    confirm: "/proc/softirqs; napi:napi_poll names the device",
    fix: "PREEMPT_RT; move the interrupt that raises it, and RPS/XPS masks; rcu_nocbs for RCU; no ksoftirqd above our priority",
    reading: &["Scaling in the Linux Networking Stack", "Reducing OS jitter due to per-cpu kthreads"],
    proof: Proof::Real,
};

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c>> {
    let pieces = case.claim(|piece| matches!(held(piece), Some(Context::Softirq { .. })))?;
    let who = case.culprits(&pieces);
    let vec = pieces.iter().max_by_key(|&&index| case.pieces[index].ns()).and_then(|&index| {
        match case.pieces[index].answer.context() {
            Context::Softirq { vec, .. } => Some(vec),
            _ => None,
        }
    });
    let fix = match vec {
        Some(2 | 3) => {
            "move the network card's interrupt and RPS/XPS masks to another CPU, lower net.core.netdev_budget_usecs, use threaded NAPI"
        }
        Some(1 | 8) => "keep the owners of those timers off this CPU (isolcpus, timer_migration)",
        Some(4 | 5) => "move the storage device's interrupt to another CPU",
        Some(9) => "rcu_nocbs= for this CPU",
        _ => "move what raises it to another CPU",
    };
    let fix = match case.preempt_rt() {
        Some(true) => format!("{fix}; do not give ksoftirqd a priority above the measuring thread's"),
        _ => format!("{fix}; on a PREEMPT_RT kernel softirqs can be preempted"),
    };
    Some(Claim {
        confidence: Confidence::Certain,
        sentence: format!("softirq work ran first: {who} ({})", case.share(&pieces)),
        events: Vec::new(),
        evidence: Vec::new(),
        confirm: "watch /proc/softirqs for this CPU; event napi:napi_poll names the device".into(),
        fix,
        pieces,
    })
}
