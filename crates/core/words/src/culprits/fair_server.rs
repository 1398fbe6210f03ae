//! Words about fair-server: the fair server.

use super::{Advice, FindingWords};
use crate::figures::set_duration;
use crate::holders::{preferred, task};
use crate::voice::Share;
use archive::culprit::{FairServer, FairShare, ForeignText};

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
    let unusual = facts.server.as_ref().filter(|server| server.runtime_ns > 0 && !server.is_default());
    let setting = unusual.map(|server| format!("; {}", setting(server))).unwrap_or_default();
    FindingWords {
        sentence: format!(
            "the scheduler gave {} the CPU although {} could run ({share}): {mechanism}{setting}",
            preferred(&facts.preferred),
            share.voice.thread()
        ),
        evidence: evidence(facts),
        confirm: "/sys/kernel/debug/sched/fair_server/cpu*/runtime; dmesg says `RT throttling activated` if that was the cause".into(),
        fix: match unusual {
            Some(server) if facts.may_be_throttling => {
                format!("{}, or sysctl kernel.sched_rt_runtime_us=-1", fix_of_unusual(server))
            }
            Some(server) => fix_of_unusual(server),
            None => "make the real-time work leave 5 % of the CPU; then echo 0 to the fair server's runtime, or sysctl kernel.sched_rt_runtime_us=-1".into(),
        },
    }
}

/// The server's part of the CPU, with the usual one beside another.
fn setting(server: &FairServer) -> String {
    let FairServer { cpu, runtime_ns, period_ns } = *server;
    let usual = match server.is_default() {
        true => String::new(),
        false => format!(
            ", by default {} of each {}",
            set_duration(FairServer::RUNTIME_NS),
            set_duration(FairServer::PERIOD_NS)
        ),
    };
    format!(
        "on CPU {cpu} it gives ordinary tasks {} of each {}{usual}",
        set_duration(runtime_ns),
        set_duration(period_ns)
    )
}

/// The kernel refuses a runtime above the period, also between the two writes.
fn fix_of_unusual(server: &FairServer) -> String {
    let write =
        |file: &str, ns: i64| format!("echo {ns} > /sys/kernel/debug/sched/fair_server/cpu{}/{file}", server.cpu);
    let mut writes = [write("runtime", FairServer::RUNTIME_NS), write("period", FairServer::PERIOD_NS)];
    if server.period_ns < FairServer::RUNTIME_NS {
        writes.reverse();
    }
    format!("the default: {}; then leave ordinary tasks 5 % of the CPU", writes.join(" and "))
}

fn evidence(facts: &FairShare) -> Vec<String> {
    let spender = facts.spender.as_ref().map(|spender| {
        format!(
            "{} had the CPU before and was still runnable: it left ordinary tasks too little CPU time",
            task(spender)
        )
    });
    let runtime = facts.rt_runtime_us.map(|us| format!("sched_rt_runtime_us is {us}"));
    let servers = match &facts.server {
        Some(server) => vec![format!("fair server: {}", setting(server))],
        None => facts.server_runtimes.iter().map(|ForeignText(line)| format!("fair server: {line}")).collect(),
    };
    spender.into_iter().chain(runtime).chain(servers).collect()
}
