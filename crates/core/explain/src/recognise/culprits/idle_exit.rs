//! The CPU was idle when the wake-up was due, and took long to leave its idle state.

use super::about::{About, Proof, Unrecorded};
use crate::account::interrupted_code::came_in_a_halt;
use crate::read::event::{EventKind, IDLE_EXIT};
use crate::recognise::case::{Case, Claim};
use crate::recognise::evidence::idle_time::{LEAVING_NS_MAX, is_idle_time};
use crate::replay::context::Context;
use archive::culprit::{ForeignText, IdleExit, KernelName};
use archive::explanation::Confidence;

pub const ABOUT: About = About {
    recognised: "power:cpu_idle shows the CPU in an idle state when the wake-up was due, or the kernel's record of the late interrupt that the CPU of a guest had halted",
    events: &["cpu_idle|sched_switch"],
    shows: "the CPU was in the idle state when the wake-up was due",
    reading: &["CPU Idle Time Management", "PM Quality Of Service Interface", "Guest halt polling"],
    proof: Proof::Real { at_most: Confidence::Certain },
    refuted_by: &[Unrecorded::Migration, Unrecorded::WakeUp, Unrecorded::Switch, Unrecorded::TimersOfThrottling],
};

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c, IdleExit>> {
    let pieces = case.claim(is_idle_time)?;
    if case.virtualised().is_some() && case.ns(&pieces) > LEAVING_NS_MAX {
        // Caused by the hypervisor: the culprit `steal`.
        return None;
    }
    let state = pieces.iter().find_map(|&index| match case.pieces[index].answer.context() {
        Context::Idle { state } if state != IDLE_EXIT => Some(state),
        _ => None,
    });
    let cpu = case.cpu();
    let halted = case.late_record().is_some_and(came_in_a_halt);
    // The scheduler leaves a CPU idle beside a throttled thread, which only its priority shows.
    let mut waits = pieces.iter().map(|&index| &case.pieces[index]).filter(|piece| case.kept_off(piece));
    let may_be_throttled = waits.any(|piece| case.own_prio_in(piece).is_none());
    let confidence = match (state, case.virtualised()) {
        _ if may_be_throttled => Confidence::Hint,
        (Some(_), None) if case.bare_metal() => Confidence::Certain,
        (Some(_), _) => Confidence::Likely,
        (None, Some(_)) if halted => Confidence::Likely,
        (None, _) => Confidence::Hint,
    };
    let exit = case.event(|event| event.cpu == cpu && event.what == EventKind::Idle { state: IDLE_EXIT });
    let enter = case.trace.cpu(cpu).and_then(|activity| activity.before.idle);
    let facts = IdleExit {
        cpu,
        state,
        host: case.virtualised().map(ForeignText::from),
        halted,
        halted_in: case.interrupted_function().filter(|_| halted).map(KernelName::from),
    };
    Some(Claim { events: exit.into_iter().chain(enter).collect(), ..Claim::new(pieces, confidence, facts) })
}
