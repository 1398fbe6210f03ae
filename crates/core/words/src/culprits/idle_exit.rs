//! Words about idle-exit: leaving an idle state.

use super::{Advice, FindingWords};
use crate::voice::Share;
use archive::culprit::{ForeignText, IdleExit, KernelName};

pub const ADVICE: Advice = Advice {
    title: "leaving an idle state",
    confirm: "/sys/devices/system/cpu/cpuN/cpuidle/stateK/latency shows the exit latency of the state; measure again with the state disabled",
    fix: "hold /dev/cpu_dma_latency at 0 (--cpu-dma-latency 0), or echo 1 > /sys/devices/system/cpu/cpuN/cpuidle/stateK/disable; in a guest idle=poll or cpuidle-haltpoll",
};

pub fn words(facts: &IdleExit, share: Share) -> FindingWords {
    let IdleExit { cpu, state, host, halted, halted_in } = facts;
    let sentence = match (state, host) {
        (Some(state), None) => format!("CPU {cpu} took time to leave idle state {state} ({share})"),
        (Some(state), Some(ForeignText(host))) => {
            format!(
                "CPU {cpu} was in idle state {state}, returned to the hypervisor ({host}), and resumed late ({share})"
            )
        }
        (None, Some(ForeignText(host))) if *halted => {
            format!("CPU {cpu} had halted, which returns to the hypervisor ({host}), and resumed late ({share})")
        }
        (None, _) => format!("CPU {cpu} was idle when {} and resumed late ({share})", share.voice.sample.begun),
    };
    let place =
        |KernelName(function): &KernelName| format!("the interrupt came in inside `{function}`, where the CPU halts");
    let states = state.map_or_else(|| "state*".into(), |state| format!("state{state}"));
    let folder = format!("/sys/devices/system/cpu/cpu{cpu}/cpuidle/{states}");
    FindingWords {
        sentence,
        evidence: halted_in.iter().map(place).collect(),
        confirm: format!("{folder}/latency shows the exit latency of the state; measure again with the state disabled"),
        fix: match host {
            Some(_) => format!(
                "in the guest: idle=poll or cpuidle-haltpoll; on the host: pin the virtual CPU, SCHED_FIFO for its thread, a larger kvm halt_poll_ns; else echo 1 > {folder}/disable"
            ),
            None => format!(
                "hold /dev/cpu_dma_latency at 0 (--cpu-dma-latency 0 does for the run), or echo 1 > {folder}/disable"
            ),
        },
    }
}
