//! The timer interrupt came late while a task ran: the task had interrupts masked, or the CPU did not run.
//!
//! Which of the two it was shows in the preemption depth where the interrupt came in at last: the locks that mask
//! interrupts disable preemption too, until after they have enabled interrupts again. The interrupt flag of the events in
//! between says nothing, since the scheduler's and the timers' own events are always recorded with interrupts off.

use crate::case::{Case, Claim, held};
use crate::event::Event;
use crate::holder::Holder;
use archive::explanation::{Confidence, PhaseName};

/// A shorter delay may be a short masked section of the kernel's entry code.
const UNLOCKED_NS_MIN: i64 = 50_000;

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c>> {
    let pieces =
        case.claim(|piece| piece.phase == PhaseName::TimerDelay && matches!(held(piece), Some(Holder::Task { .. })))?;
    let entry = entry(case);
    let locked = entry.is_some_and(|entry| entry.preempt_off());
    let unlocked = entry.is_some() && !locked && counts_preemption(case) && case.ns(&pieces) >= UNLOCKED_NS_MIN;
    let late = format!("the timer interrupt came late while {} ran ({})", case.culprits(&pieces), case.share(&pieces));
    let (confidence, sentence) = match case.virtualised() {
        None if case.bare_metal() && locked => {
            (Confidence::Likely, format!("{late}: it held a lock, most likely with interrupts masked"))
        }
        None if case.bare_metal() => (
            Confidence::Hint,
            format!("{late}: either it had interrupts masked or firmware had the CPU; the trace cannot tell"),
        ),
        Some(host) if unlocked => (
            Confidence::Likely,
            format!("{late}: it held no lock that masks interrupts, so the hypervisor ({host}) did not run this CPU"),
        ),
        Some(host) => (
            Confidence::Hint,
            format!(
                "{late}: either it had interrupts masked or the hypervisor ({host}) delivered it late; the trace cannot tell"
            ),
        ),
        None => (
            Confidence::Hint,
            format!(
                "{late}: either it had interrupts masked, or a hypervisor or firmware had the CPU; the trace cannot tell"
            ),
        ),
    };
    let depth = match (locked, unlocked) {
        (true, _) => Some("preemption was disabled where the interrupt came in: a lock was held"),
        (false, true) => Some("preemption was enabled where the interrupt came in: no lock was held"),
        (false, false) => None,
    };
    let hypervisor = case.virtualised().is_some() && unlocked;
    let (confirm, fix) = if hypervisor {
        (
            "on the host: perf kvm stat, or trace kvm:kvm_exit and kvm:kvm_entry of this virtual CPU",
            "on the host: pin virtual CPUs one to one, isolate those CPUs, SCHED_FIFO for their threads, no overcommitment",
        )
    } else {
        (
            "the irqsoff tracer where the kernel has it; `stacktrace` as a trigger on timer/hrtimer_expire_entry shows where interrupts were enabled again",
            "report the function to its maintainers; keep the task off this CPU (cpuset, taskset, isolcpus)",
        )
    };
    Some(Claim {
        pieces,
        confidence,
        sentence,
        events: entry.into_iter().collect(),
        evidence: depth.map(str::to_owned).into_iter().chain(case.steal_line()).collect(),
        confirm: confirm.into(),
        fix: fix.into(),
    })
}

/// The entry of the interrupt that brought the wake-up.
fn entry<'c>(case: &Case<'c>) -> Option<Event<'c>> {
    let anchor = case.anchors.interrupt?;
    case.event(|event| event.cpu == anchor.cpu && event.ts_ns == anchor.ts_ns && event.is_interrupt_entry())
}

/// Whether this kernel counts preemption at all: one without CONFIG_PREEMPT_COUNT shows 0 everywhere.
fn counts_preemption(case: &Case) -> bool {
    case.scene.cpus.iter().flat_map(|story| &story.events).any(Event::preempt_off)
}
