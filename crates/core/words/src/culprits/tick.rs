//! Words about tick: the scheduler tick.

use super::{Advice, FindingWords};
use crate::voice::Share;
use archive::culprit::{ForeignText, Tick};

pub const ADVICE: Advice = Advice {
    title: "the scheduler tick",
    confirm: "the event timer:tick_stop with success=0 names what keeps the tick; /sys/devices/system/cpu/nohz_full says where it may stop",
    fix: "nohz_full= for this CPU and one runnable task on it: no second task, no perf session, no CPU-time timer; skew_tick=1, and an interval that is not a multiple of the tick",
};

pub fn words(facts: &Tick, share: Share) -> FindingWords {
    let doubt = facts.host.as_ref().map_or_else(String::new, |ForeignText(host)| {
        format!("; a tick takes that long only if the hypervisor ({host}) had the CPU meanwhile")
    });
    FindingWords {
        evidence: facts.nohz_full.iter().map(|ForeignText(cpus)| format!("nohz_full is {cpus}")).collect(),
        ..ADVICE.with(format!("the scheduler tick ran first ({share}){doubt}"))
    }
}
