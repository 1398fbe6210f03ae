//! The timer interrupt came late while a task ran: the task had interrupts masked, as far as the trace can show.
//!
//! A lock still held where the interrupt finally came in supports it. The interrupt flag of the events in between
//! proves nothing, because the scheduler's and the timers' own events are always recorded with interrupts off. The flag
//! of functions does: a function tracer proves it. So does, almost, a record of the late interrupt, a stack trace or a row of wake-ups, see
//! [`crate::recognise::masked_section`]: a host can only have lengthened such a section. In a guest nothing else does: a
//! lock only shows that the interrupt came in inside a critical section, and a task that was charged for all of the time
//! need not have run all of it.

use super::about::{About, Proof};
use crate::account::ledger::Piece;
use crate::read::named_event::relative;
use crate::recognise::case::{Case, held};
use crate::recognise::functions::proves_masked;
use crate::recognise::masked_section::MaskedSection;
use crate::recognise::stated::Claim;
use crate::replay::context::Context;
use archive::explanation::{Confidence, PhaseName};
use words::figures::latency;

pub const ABOUT: About = About {
    recognised: "the timer interrupt comes late on top of a task; above a hint only in virtual time, where functions, the kernel's record of the late interrupt, a stack trace (--stack) or a row of wake-ups show that interrupts were masked, and on bare metal with a lock still held where it comes in",
    events: &["local_timer_entry|hrtimer_expire_entry"],
    shows: "a timer that was due came late on top of a task; that interrupts were masked only functions, the place that the interrupt broke into, or virtual time show",
    at_most: Confidence::Certain,
    reading: &["ftrace - Function Tracer", "Lock types and their rules"],
    proof: Proof::Real,
};

/// The timer was due and a task had the CPU.
pub fn is_late_in_task(piece: &Piece) -> bool {
    piece.phase == PhaseName::TimerDelay && matches!(held(piece), Some(Context::Task { .. }))
}

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c>> {
    let pieces = case.claim(is_late_in_task)?;
    let entry = case.wake_interrupt_entry();
    let locked = entry.is_some_and(|entry| entry.preempt_off());
    let charged = case.charged_in_full(&pieces);
    let counts_no_steal = case.counts_no_steal(&pieces);
    let closely = case.is_recorded_closely(&pieces);
    let late = case.late_record();
    let who = case.culprits(&pieces);
    let share = case.share(&pieces);
    let section = MaskedSection::find(case, &pieces);
    let (confidence, why) = match case.virtualised() {
        host if proves_masked(case, &pieces) => (
            // A hypervisor could still have delayed an interrupt during a short moment with interrupts enabled.
            if host.is_none() && case.bare_metal() { Confidence::Certain } else { Confidence::Likely },
            "it had interrupts masked, as the recorded functions show".to_owned(),
        ),
        None if case.in_virtual_time() => (
            Confidence::Certain,
            "it had interrupts masked: where the clock counts instructions, nothing else delays one".to_owned(),
        ),
        _ if let Some(section) =
            section.filter(|_| charged.is_some() || counts_no_steal || closely || case.bare_metal()) =>
        {
            (Confidence::Likely, section.words())
        }
        None if case.bare_metal() && locked => {
            (Confidence::Likely, "it held a lock, most likely with interrupts masked".to_owned())
        }
        None if case.bare_metal() => (
            Confidence::Hint,
            "either it had interrupts masked or firmware had the CPU; the trace does not show which".to_owned(),
        ),
        // A host that handles an exit or a page fault of the guest charges the task as if it ran.
        Some(host) if charged.is_some() || counts_no_steal => (
            Confidence::Hint,
            format!(
                "{}either it had interrupts masked, or the host served an exit or a page fault of the guest; the steal clock \
                 shows that the hypervisor ({host}) did not preempt the CPU",
                if locked { "it held a lock: " } else { "" }
            ),
        ),
        Some(host) => (
            Confidence::Hint,
            format!(
                "either it had interrupts masked or the hypervisor ({host}) delayed the interrupt; the trace does not show which"
            ),
        ),
        None => (
            Confidence::Hint,
            "either it had interrupts masked, or a hypervisor or firmware had the CPU; the trace does not show which"
                .to_owned(),
        ),
    };
    let lock = locked.then(|| "preemption was disabled when the interrupt arrived: the task held a lock".to_owned());
    let charged = charged.map(|charged| {
        let due_ns = case.trace.window.due_ns;
        format!(
            "from {} to {} the threads on the CPU were charged {} of {}",
            relative(charged.start_ns, due_ns),
            relative(charged.end_ns, due_ns),
            latency(charged.ran_ns),
            latency(charged.end_ns - charged.start_ns)
        )
    });
    let closely = (closely && section.is_some() && !case.bare_metal()).then(|| {
        "the CPU recorded events in short succession meanwhile, so the hypervisor cannot have had it for long"
            .to_owned()
    });
    let counted = counts_no_steal.then(|| {
        let stolen_ns = late.and_then(|late| late.stolen_ns).and_then(|ns| i64::try_from(ns).ok()).unwrap_or_default();
        format!("the hypervisor counts {} as stolen from this CPU meanwhile", latency(stolen_ns))
    });
    let place = case.interrupted_function().map(|function| format!("the interrupt came in inside `{function}`"));
    let remedy = match section {
        Some(MaskedSection::WokeInARow(_)) => {
            "let fewer threads wait for the same event (EPOLLEXCLUSIVE, or a wait queue for each); "
        }
        _ if confidence > Confidence::Hint => "report the function to its maintainers; ",
        _ => "",
    };
    Some(Claim {
        pieces,
        confidence,
        sentence: format!("the timer interrupt was late while {who} ran ({share}): {why}"),
        events: entry.into_iter().collect(),
        evidence: lock
            .into_iter()
            .chain(place)
            .chain(closely)
            .chain(charged)
            .chain(counted)
            .chain(case.steal_line())
            .collect(),
        confirm: match section {
            Some(MaskedSection::EnabledAgain) => "the irqsoff tracer where the kernel has it".into(),
            _ if late.is_some() => "the irqsoff tracer where the kernel has it".into(),
            _ => {
                "tardy run --stack shows where the interrupt came in; the irqsoff tracer where the kernel has it".into()
            }
        },
        fix: format!("{remedy}keep the task off this CPU (cpuset, taskset, isolcpus)"),
    })
}
