//! Words about irqs-off: interrupts masked by a task.

use super::{Advice, FindingWords};
use crate::figures::latency;
use crate::holders::holders;
use crate::trace_event::relative;
use crate::voice::Share;
use archive::culprit::{ForeignText, FullCharge, KernelName, LateInTask, MaskedSection, WhyLate, WokenThreads};

pub const ADVICE: Advice = Advice {
    title: "interrupts masked by a task",
    confirm: "the irqsoff tracer where the kernel has it; tardy run --stack",
    fix: "report the function, where it is known, to its maintainers; keep the task off the CPU (cpuset, taskset, isolcpus)",
};

const TRACER: &str = "the irqsoff tracer where the kernel has it";

pub fn words(facts: &LateInTask, share: Share) -> FindingWords {
    let section = match facts.why {
        WhyLate::Section(section) => Some(section),
        _ => facts.further_sign,
    };
    let confirm = match section {
        Some(MaskedSection::EnabledAgain) => TRACER.into(),
        _ if facts.is_recorded => TRACER.into(),
        _ => format!("`tardy run --stack` shows where the interrupt came in; {TRACER}"),
    };
    let remedy = match section {
        _ if facts.woke.is_some_and(|woke| woke.ended) => "end threads before their process exits; ",
        Some(MaskedSection::WokeInARow(_)) => {
            "let fewer threads wait for the same event (EPOLLEXCLUSIVE, or a wait queue for each); "
        }
        _ if is_masked(&facts.why) => "report the function to its maintainers; ",
        _ => "",
    };
    FindingWords {
        sentence: format!("the timer interrupt was late while {} ran ({share}): {}", holders(&facts.who), why(facts)),
        evidence: evidence(facts),
        confirm,
        fix: format!("{remedy}keep the task off this CPU (cpuset, taskset, isolcpus)"),
    }
}

/// Whether the task had interrupts masked, as far as can be known.
fn is_masked(why: &WhyLate) -> bool {
    matches!(why, WhyLate::Functions | WhyLate::VirtualTime | WhyLate::Section(_) | WhyLate::Lock)
}

fn why(facts: &LateInTask) -> String {
    match &facts.why {
        WhyLate::Functions => "it had interrupts masked, as the recorded functions show".into(),
        WhyLate::VirtualTime => {
            "it had interrupts masked: where the clock counts instructions, nothing else delays one".into()
        }
        WhyLate::Section(section) => masked_by(*section, facts.woke),
        WhyLate::Lock => "it held a lock, most likely with interrupts masked".into(),
        WhyLate::MaskedOrFirmware => {
            "either it had interrupts masked or firmware had the CPU; the trace does not show which".into()
        }
        WhyLate::MaskedOrHostServed { host: ForeignText(host) } => format!(
            "{}either it had interrupts masked, or the host served an exit or a page fault of the guest; the steal clock \
             shows that the hypervisor ({host}) did not preempt the CPU",
            if facts.locked { "it held a lock: " } else { "" }
        ),
        WhyLate::MaskedOrHostDelayed { host: ForeignText(host) } => format!(
            "either it had interrupts masked or the hypervisor ({host}) delayed the interrupt; the trace does not show which"
        ),
        WhyLate::MaskedOrOutside => {
            "either it had interrupts masked, or a hypervisor or firmware had the CPU; the trace does not show which"
                .into()
        }
    }
}

fn masked_by(section: MaskedSection, woke: Option<WokenThreads>) -> String {
    match (section, woke) {
        (MaskedSection::EnabledAgain, None) => {
            "it had interrupts masked: the pending interrupt came in where a lock was released and they were enabled again"
                .into()
        }
        (MaskedSection::EnabledAgain, Some(woke)) => format!(
            "it {} with interrupts masked: the pending interrupt came in where a lock was released and they were enabled again",
            did(woke)
        ),
        (MaskedSection::WokeInARow(_), Some(woke)) if woke.ended => format!("it {} with interrupts masked", did(woke)),
        (MaskedSection::WokeInARow(count), _) => {
            format!("it woke {count} threads in a row, with interrupts masked by the lock of the wait queue")
        }
    }
}

fn did(woke: WokenThreads) -> String {
    match woke.ended {
        true => format!("sent a signal to {} threads of its process, which ended,", woke.count),
        false => format!("woke {} threads in a row", woke.count),
    }
}

fn evidence(facts: &LateInTask) -> Vec<String> {
    let lock = "preemption was disabled when the interrupt arrived: the task held a lock";
    let place = facts.came_in.as_ref().map(|KernelName(function)| format!("the interrupt came in inside `{function}`"));
    let closely =
        "the CPU recorded events in short succession meanwhile, so the hypervisor cannot have had it for long";
    let counted =
        facts.stolen_ns.map(|ns| format!("the hypervisor counts {} as stolen from this CPU meanwhile", latency(ns)));
    let said = |shown: bool, line: &str| shown.then(|| line.to_owned());
    let lines =
        [said(facts.locked, lock), place, said(facts.recorded_closely, closely), facts.charged.map(charged), counted];
    lines.into_iter().flatten().collect()
}

fn charged(charged: FullCharge) -> String {
    format!(
        "from {} to {} the threads on the CPU were charged {} of {}",
        relative(charged.start_ns),
        relative(charged.end_ns),
        latency(charged.ran_ns),
        latency(charged.end_ns.saturating_sub(charged.start_ns))
    )
}
