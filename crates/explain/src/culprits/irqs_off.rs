//! The timer interrupt came late while a task ran: the task had interrupts masked, as far as the trace can show.

use crate::case::{Case, Claim, held};
use crate::event::What;
use crate::holder::Holder;
use archive::explanation::{Confidence, PhaseName};

pub fn look(case: &Case) -> Option<Claim> {
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
        .map(|event| case.line(event))
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
            evidence: masked,
            confirm,
            fix: "report the function to its maintainers; keep the task off this CPU (cpuset, taskset, isolcpus)"
                .into(),
        });
    }
    let host = case
        .virtualised()
        .map_or_else(|| "a hypervisor, if there is one,".into(), |name| format!("the hypervisor ({name})"));
    Some(Claim {
        pieces,
        confidence: Confidence::Hint,
        sentence: format!(
            "the timer interrupt came late while {who} ran ({share}): either it had interrupts masked or {host} delivered the interrupt late; the trace cannot tell"
        ),
        evidence: Vec::new(),
        confirm,
        fix: "compare with a run without load: a delay that stays is the hypervisor's".into(),
    })
}
