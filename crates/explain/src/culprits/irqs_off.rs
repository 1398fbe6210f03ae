//! The timer interrupt came late while a task ran: the task had interrupts masked, as far as the trace can show.

use crate::case::{Case, Claim, held};
use crate::event::What;
use crate::holder::Holder;
use archive::explanation::{Confidence, PhaseName};

/// A shorter delay may be a short masked section of the kernel's entry code.
const PREEMPTIBLE_NS_MIN: i64 = 50_000;

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c>> {
    let pieces =
        case.claim(|piece| piece.phase == PhaseName::TimerDelay && matches!(held(piece), Some(Holder::Task { .. })))?;
    let who = case.culprits(&pieces);
    let share = case.share(&pieces);
    // Thread switches are recorded with interrupts off whatever the thread did before.
    let proves = |event: &&crate::event::Event| !event.irqs_on() && !matches!(event.what, What::Switch { .. });
    let masked: Vec<_> = pieces
        .iter()
        .flat_map(|&index| case.events_inside(&case.pieces[index]))
        .filter(proves)
        .take(3)
        .copied()
        .collect();
    let confirm = "the irqsoff tracer where the kernel has it; `stacktrace` as a trigger on timer/hrtimer_expire_entry shows where interrupts were enabled again".to_owned();
    if !masked.is_empty() || case.bare_metal() {
        let confidence = if masked.is_empty() { Confidence::Hint } else { Confidence::Likely };
        return Some(Claim {
            pieces,
            confidence,
            sentence: format!(
                "the timer interrupt came late while {who} ran ({share}): it most likely had interrupts masked"
            ),
            events: masked,
            evidence: Vec::new(),
            confirm,
            fix: "report the function to its maintainers; keep the task off this CPU (cpuset, taskset, isolcpus)"
                .into(),
        });
    }
    let entry = case.anchors.interrupt.and_then(|anchor| {
        case.event(|event| event.cpu == anchor.cpu && event.ts_ns == anchor.ts_ns && event.is_interrupt_entry())
    });
    // Locks that mask interrupts disable preemption too, until after they are enabled again.
    let preemptible = counts_preemption(case) && entry.is_some_and(|entry| !entry.preempt_off());
    let host = case.virtualised();
    if let Some(host) = host
        && preemptible
        && case.ns(&pieces) >= PREEMPTIBLE_NS_MIN
    {
        return Some(Claim {
            confidence: Confidence::Likely,
            sentence: format!(
                "the timer interrupt came late while {who} ran ({share}): it held no lock that masks interrupts, so the hypervisor ({host}) did not run this CPU"
            ),
            events: entry.into_iter().collect(),
            evidence: ["preemption was enabled where the interrupt came in".into()]
                .into_iter()
                .chain(case.steal_line())
                .collect(),
            confirm: "on the host: perf kvm stat, or trace kvm:kvm_exit and kvm:kvm_entry of this virtual CPU".into(),
            fix: "on the host: pin virtual CPUs one to one, isolate those CPUs, SCHED_FIFO for their threads, no overcommitment".into(),
            pieces,
        });
    }
    let host = host.map_or_else(|| "a hypervisor, if there is one,".into(), |name| format!("the hypervisor ({name})"));
    Some(Claim {
        confidence: Confidence::Hint,
        sentence: format!(
            "the timer interrupt came late while {who} ran ({share}): either it had interrupts masked or {host} delivered the interrupt late; the trace cannot tell"
        ),
        events: Vec::new(),
        evidence: case.steal_line().into_iter().collect(),
        confirm,
        fix: "compare with a run without load: a delay that stays is the hypervisor's".into(),
        pieces,
    })
}

/// Whether this kernel counts preemption at all: one without CONFIG_PREEMPT_COUNT shows 0 everywhere.
fn counts_preemption(case: &Case) -> bool {
    case.scene.cpus.iter().flat_map(|story| &story.events).any(|event| event.preempt_off())
}
