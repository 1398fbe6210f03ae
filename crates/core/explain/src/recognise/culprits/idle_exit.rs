//! The CPU was idle when the wake-up was due, and took long to leave its idle state.

use super::about::{About, Proof};
use crate::account::interrupted_code::came_in_a_halt;
use crate::account::ledger::Piece;
use crate::read::event::{EventKind, IDLE_EXIT};
use crate::recognise::case::{Case, Claim, held};
use crate::replay::context::Context;
use archive::explanation::{Confidence, PhaseName};

pub const ABOUT: About = About {
    recognised: "power:cpu_idle shows the CPU in an idle state when the wake-up was due, or the kernel's record of the late interrupt that the CPU of a guest had halted",
    confirm: "/sys/devices/system/cpu/cpuN/cpuidle/stateK/latency shows the exit latency of the state; measure again with the state disabled",
    fix: "hold /dev/cpu_dma_latency at 0 (--cpu-dma-latency 0), or echo 1 > /sys/devices/system/cpu/cpuN/cpuidle/stateK/disable; in a guest idle=poll or cpuidle-haltpoll",
    reading: &["CPU Idle Time Management", "PM Quality Of Service Interface", "Guest halt polling"],
    proof: Proof::Real,
};

/// Maximum exit time of any idle state, and of a return from an otherwise idle host.
pub const LEAVING_NS_MAX: i64 = 1_000_000;

/// Time that an idle CPU let pass between the due instant and the thread.
pub fn is_idle_time(piece: &Piece) -> bool {
    matches!(piece.phase, PhaseName::TimerDelay | PhaseName::SchedulingDelay | PhaseName::WakePath)
        && held(piece).is_some_and(Context::is_idle)
}

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c>> {
    let pieces = case.claim(is_idle_time)?;
    if case.virtualised().is_some() && case.ns(&pieces) > LEAVING_NS_MAX {
        // Caused by the hypervisor: the culprit `steal`.
        return None;
    }
    let state = pieces.iter().find_map(|&index| match case.pieces[index].answer.context() {
        Context::Idle { state } if state != IDLE_EXIT => Some(state),
        _ => None,
    });
    let share = case.share(&pieces);
    let cpu = case.cpu();
    let halted = case.late_record().is_some_and(came_in_a_halt);
    let place = case.interrupted_function().filter(|_| halted);
    let (confidence, sentence) = match (state, case.virtualised()) {
        (Some(state), None) if case.bare_metal() => {
            (Confidence::Certain, format!("CPU {cpu} took time to leave idle state {state} ({share})"))
        }
        (Some(state), None) => {
            (Confidence::Likely, format!("CPU {cpu} took time to leave idle state {state} ({share})"))
        }
        (Some(state), Some(host)) => (
            Confidence::Likely,
            format!(
                "CPU {cpu} was in idle state {state}, returned to the hypervisor ({host}), and resumed late ({share})"
            ),
        ),
        (None, Some(host)) if halted => (
            Confidence::Likely,
            format!("CPU {cpu} had halted, which returns to the hypervisor ({host}), and resumed late ({share})"),
        ),
        (None, _) => {
            let begun = case.input.sample.begun;
            (Confidence::Hint, format!("CPU {cpu} was idle when {begun} and resumed late ({share})"))
        }
    };
    let exit = case.event(|event| event.cpu == cpu && event.what == EventKind::Idle { state: IDLE_EXIT });
    let enter = case.trace.cpu(cpu).and_then(|activity| activity.before.idle);
    let states = state.map_or_else(|| "state*".into(), |state| format!("state{state}"));
    let fix = match case.virtualised() {
        Some(_) => format!(
            "in the guest: idle=poll or cpuidle-haltpoll; on the host: pin the virtual CPU, SCHED_FIFO for its thread, a larger kvm halt_poll_ns; else echo 1 > /sys/devices/system/cpu/cpu{cpu}/cpuidle/{states}/disable"
        ),
        None => format!(
            "hold /dev/cpu_dma_latency at 0 (--cpu-dma-latency 0 does for the run), or echo 1 > /sys/devices/system/cpu/cpu{cpu}/cpuidle/{states}/disable"
        ),
    };
    Some(Claim {
        pieces,
        confidence,
        sentence,
        events: exit.into_iter().chain(enter).collect(),
        evidence: place
            .map(|function| format!("the interrupt came in inside `{function}`, where the CPU halts"))
            .into_iter()
            .collect(),
        confirm: format!(
            "/sys/devices/system/cpu/cpu{cpu}/cpuidle/{states}/latency shows the exit latency of the state; measure again with the state disabled"
        ),
        fix,
    })
}
