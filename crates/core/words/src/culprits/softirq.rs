//! Words about softirq: softirq work.

use super::{Advice, FindingWords};
use crate::holders::holders;
use crate::voice::Share;
use archive::culprit::SoftirqWork;

pub const ADVICE: Advice = Advice {
    title: "softirq work",
    confirm: "watch /proc/softirqs for this CPU; event napi:napi_poll names the device",
    fix: "PREEMPT_RT; move the interrupt that raises the softirq, and RPS/XPS masks; rcu_nocbs for RCU; no ksoftirqd above the late thread",
};

pub fn words(facts: &SoftirqWork, share: Share) -> FindingWords {
    let fix = match facts.softirq {
        Some(2 | 3) => {
            "move the network card's interrupt and RPS/XPS masks to another CPU, lower net.core.netdev_budget_usecs, use threaded NAPI"
        }
        Some(1 | 8) => "keep the owners of those timers off this CPU (isolcpus, timer_migration)",
        Some(4 | 5) => "move the storage device's interrupt to another CPU",
        Some(9) => "rcu_nocbs= for this CPU",
        _ => "move what raises the softirq to another CPU",
    };
    let kernel = match facts.preempt_rt {
        true => format!("do not give ksoftirqd a priority above {}'s", share.voice.thread()),
        false => "on a PREEMPT_RT kernel softirqs can be preempted".into(),
    };
    FindingWords {
        fix: format!("{fix}; {kernel}"),
        ..ADVICE.with(format!("softirq work ran first: {} ({share})", holders(&facts.who)))
    }
}
