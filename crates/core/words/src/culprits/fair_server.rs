//! Words about fair-server: the fair server.

use super::{Advice, FindingWords};
use crate::holders::{preferred, task};
use crate::voice::Share;
use archive::culprit::{FairShare, ForeignText};

pub const ADVICE: Advice = Advice {
    title: "the fair server",
    confirm: "/sys/kernel/debug/sched/fair_server/cpuN/runtime says how many ns of each period (beside it) ordinary tasks get; 50 ms of 1 s by default",
    fix: "leave ordinary tasks 5 % of the CPU; or echo 0 > /sys/kernel/debug/sched/fair_server/cpuN/runtime",
};

pub fn words(facts: &FairShare, share: Share) -> FindingWords {
    let mechanism = match facts.may_be_throttling {
        true => "the fair server or real-time throttling",
        false => "the fair server",
    };
    FindingWords {
        sentence: format!(
            "the scheduler gave {} the CPU although {} could run ({share}): {mechanism}",
            preferred(&facts.preferred),
            share.voice.thread()
        ),
        evidence: evidence(facts),
        confirm: "/sys/kernel/debug/sched/fair_server/cpu*/runtime; dmesg says `RT throttling activated` if that was the cause".into(),
        fix: "make the real-time work leave 5 % of the CPU; then echo 0 to the fair server's runtime, or sysctl kernel.sched_rt_runtime_us=-1".into(),
    }
}

fn evidence(facts: &FairShare) -> Vec<String> {
    let spender = facts.spender.as_ref().map(|spender| {
        format!(
            "{} had the CPU before and was still runnable: it left ordinary tasks too little CPU time",
            task(spender)
        )
    });
    let runtime = facts.rt_runtime_us.map(|us| format!("sched_rt_runtime_us is {us}"));
    let servers = facts.server_runtimes.iter().map(|ForeignText(line)| format!("fair server: {line}"));
    spender.into_iter().chain(runtime).chain(servers).collect()
}
