//! Time in which the kernel was provably not executed: the hypervisor or the firmware had the CPU.

use super::about::{About, Proof};
use crate::account::interrupted_code::InterruptedCode;
use crate::account::ledger::{Answer, Piece};
use crate::account::stalls::{Request, leads_to_a_switch, overdue_elsewhere, request};
use crate::recognise::case::Case;
use crate::recognise::stated::Claim;
use crate::replay::context::Context;
use archive::explanation::Confidence;
use words::figures::latency;

pub const ABOUT: About = About {
    recognised: "the timer was due with interrupts enabled and its interrupt did not come, as events, the kernel's record of that interrupt or a stack trace (--stack) show; or no CPU recorded anything while a timer of another busy CPU was overdue, too; or the CPU recorded nothing for more than 1 ms inside of the timer interrupt, or in the scheduler from the charge of a thread that falls asleep to the switch away from it, or while it sent an interrupt to another CPU or set the timer of its sleep, with interrupts masked, or for longer than a tick on its way from an interrupt to its softirqs",
    events: &[],
    shows: "a timer that was due on a CPU that served other interrupts, or on another CPU, or a pause inside of an interrupt or of a request for one; who had the time has no event",
    at_most: Confidence::Likely,
    reading: &["Hardware Latency Detector", "OSNOISE Tracer"],
    proof: Proof::Real,
};

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c>> {
    let silent =
        |answer| matches!(answer, Answer::SilenceAllCpus(_) | Answer::SilenceThisCpu(_) | Answer::StoodStill(_));
    let pieces = case.claim(|piece| silent(piece.answer))?;
    let ns_of = |wanted: fn(Answer) -> bool| -> i64 {
        let these = pieces.iter().map(|&index| &case.pieces[index]).filter(|piece| wanted(piece.answer));
        these.map(Piece::ns).sum()
    };
    let everywhere = ns_of(|answer| matches!(answer, Answer::SilenceAllCpus(_))) * 2 > case.ns(&pieces);
    let still_ns = ns_of(|answer| matches!(answer, Answer::StoodStill(_)));
    let share = case.share(&pieces);
    let steal_ns = case.input.spike.snapshot.as_ref().and_then(|snapshot| snapshot.steal_ns);
    let mut evidence: Vec<String> = Vec::new();
    let overdue = pieces.iter().find_map(|&index| {
        let piece = &case.pieces[index];
        overdue_elsewhere(case.trace, piece.cpu, piece.start_ns, piece.end_ns)
    });
    if let Some((cpu, late_ns)) = overdue {
        evidence.push(format!("a timer of CPU {cpu} was due meanwhile and fired {} late, too", latency(late_ns)));
    }
    let requests: Vec<(Request, i64)> =
        pieces.iter().filter_map(|&index| request_in(case, &case.pieces[index])).collect();
    for (request, ns) in &requests {
        evidence.push(format!(
            "for {} the CPU recorded nothing, with interrupts masked, {}: the code there takes microseconds, and in a guest exits to the hypervisor",
            latency(*ns),
            while_it(*request)
        ));
    }
    let still_elsewhere_ns = still_ns - requests.iter().map(|(_, ns)| ns).sum::<i64>();
    if still_elsewhere_ns > 0 {
        evidence.push(format!(
            "for {} the CPU recorded nothing inside of an interrupt, on the way out of one or in a switch of threads: the code there takes microseconds",
            latency(still_elsewhere_ns)
        ));
    }
    evidence.extend(broken_into(case, &pieces));
    evidence.extend(case.steal_line());
    // Where a steal clock counts, what others had is not silent but stolen.
    let stolen = steal_ns.is_some_and(|steal_ns| steal_ns > 0) && !case.has_steal_clock();
    let (confidence, who) = match (case.virtualised(), stolen) {
        (Some(host), true) => {
            (Confidence::Likely, format!("the hypervisor ({host}) ran something else: the guest's steal time grew"))
        }
        (Some(host), false) => (Confidence::Likely, format!("the hypervisor ({host}) or firmware had the CPU")),
        (None, true) => (Confidence::Likely, "a hypervisor ran something else: the guest's steal time grew".into()),
        (None, false) if case.bare_metal() => {
            (Confidence::Likely, "firmware (a system management interrupt) or the hardware".into())
        }
        (None, false) => (Confidence::Hint, "firmware, the hardware or a hypervisor".into()),
    };
    let sentence = if everywhere {
        format!("no CPU recorded anything ({share}): {who}")
    } else if still_ns * 2 > case.ns(&pieces) {
        let context = |piece: &Piece| piece.answer.context();
        let longest = pieces.iter().map(|&index| &case.pieces[index]).max_by_key(|piece| piece.ns())?;
        let place = match (context(longest), request_in(case, longest)) {
            (_, Some((request, _))) => while_it(request).to_owned(),
            (Context::Task { .. }, None) if switches(case, longest) => {
                "in the switch from one thread to the next".to_owned()
            }
            (Context::Task { .. }, None) => "between an interrupt and its softirqs".to_owned(),
            (context, None) => format!("in the interrupt {}", context.name(case.names())),
        };
        format!("CPU {} stood still {place} ({share}): {who}", longest.cpu)
    } else {
        format!("the timer interrupt was not delivered although interrupts were enabled ({share}): {who}")
    };
    let (confirm, fix) = match case.virtualised() {
        Some(_) => (
            "on the host: perf kvm stat, or trace kvm:kvm_exit and kvm:kvm_entry of this virtual CPU",
            "on the host: pin virtual CPUs one to one, isolate those CPUs, SCHED_FIFO for their threads, no overcommitment",
        ),
        None => (
            "rdmsr 0x34 before and after (Intel counts system management interrupts there); the hwlat tracer",
            "BIOS: legacy USB, error polling, power capping and fan control; never switch off thermal protection",
        ),
    };
    Some(Claim { pieces, confidence, sentence, events: Vec::new(), evidence, confirm: confirm.into(), fix: fix.into() })
}

/// Where the late interrupt came in, if that shows that interrupts were enabled.
fn broken_into(case: &Case, pieces: &[usize]) -> Option<String> {
    let not_delivered = |&index: &usize| matches!(case.pieces[index].answer, Answer::SilenceThisCpu(_));
    let entry = case.wake_interrupt_entry().filter(|_| pieces.iter().any(not_delivered))?;
    let activity = case.trace.cpu(entry.cpu)?;
    let shown_by = if case.late_record().is_some() { "the kernel's record" } else { "a stack trace" };
    match InterruptedCode::find(activity, case.trace, entry.ts_ns)? {
        InterruptedCode::UserSpace => {
            Some(format!("{shown_by} shows that the interrupt came in in user space, where no interrupt is masked"))
        }
        InterruptedCode::Neutral(function) => Some(format!(
            "{shown_by} shows that the interrupt came in inside `{function}`, which does not mask interrupts"
        )),
        InterruptedCode::Entry(function) => Some(format!(
            "{shown_by} shows that the interrupt came in at `{function}`, where interrupts are masked for less than a microsecond"
        )),
        InterruptedCode::Enabling(_) => None,
    }
}

fn while_it(request: Request) -> &'static str {
    match request {
        Request::Interrupt => "while it sent an interrupt to another CPU",
        Request::Timer => "while it set its timer",
    }
}

/// The request to the interrupt controller that a piece stood still in, and for how long.
fn request_in(case: &Case, piece: &Piece) -> Option<(Request, i64)> {
    let (Answer::StoodStill(Context::Task { .. }), Some(activity)) = (piece.answer, case.trace.cpu(piece.cpu)) else {
        return None;
    };
    let mut pauses = activity.pauses(piece.start_ns, piece.end_ns, 0);
    let found = pauses.find_map(|(from_ns, to_ns)| request(activity, case.trace, from_ns, to_ns))?;
    Some((found, piece.ns()))
}

/// Whether the pause that a piece belongs to ends with the switch away from a thread that falls asleep.
fn switches(case: &Case, piece: &Piece) -> bool {
    let Some(activity) = case.trace.cpu(piece.cpu) else { return false };
    let mut pauses = activity.pauses(piece.start_ns, piece.end_ns, 0);
    pauses.any(|(from_ns, to_ns)| leads_to_a_switch(activity, from_ns, to_ns))
}
