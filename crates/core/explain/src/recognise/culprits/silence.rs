//! Time in which the kernel was provably not executed: the hypervisor or the firmware had the CPU.

use super::about::{About, Proof, Unrecorded};
use crate::account::interrupted_code::InterruptedCode;
use crate::account::ledger::{Answer, Piece};
use crate::account::stalls::{leads_to_a_switch, overdue_elsewhere, request};
use crate::recognise::case::{Case, Claim};
use crate::replay::context::Context;
use archive::culprit::{
    CameIn, ForeignText, KernelName, OverdueTimer, Silence, SilencedBy, SilentPlace, SilentRequest, StoodStillIn,
    UnmaskedCode,
};
use archive::explanation::Confidence;

pub const ABOUT: About = About {
    recognised: "the timer was due with interrupts enabled and its interrupt did not come, as events, the kernel's record of that interrupt or a stack trace (--stack) show; or no CPU recorded anything while a timer of another busy CPU was overdue, too; or the CPU recorded nothing for more than 1 ms inside of the timer interrupt, or in the scheduler from the charge of a thread that falls asleep to the switch away from it, or while it sent an interrupt to another CPU or set the timer of its sleep, with interrupts masked, or for longer than a tick on its way from an interrupt to its softirqs",
    events: &[],
    shows: "a timer that was due on a CPU that served other interrupts, or on another CPU, or a pause inside of an interrupt or of a request for one; who had the time has no event",
    reading: &["Hardware Latency Detector", "OSNOISE Tracer"],
    proof: Proof::Real { at_most: Confidence::Likely },
    refuted_by: &[Unrecorded::Interrupts, Unrecorded::Timers],
};

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c, Silence>> {
    let silent =
        |answer| matches!(answer, Answer::SilenceAllCpus(_) | Answer::SilenceThisCpu(_) | Answer::StoodStill(_));
    let pieces = case.claim(|piece| silent(piece.answer))?;
    let ns_of = |wanted: fn(Answer) -> bool| -> i64 {
        let these = pieces.iter().map(|&index| &case.pieces[index]).filter(|piece| wanted(piece.answer));
        these.map(Piece::ns).sum()
    };
    let everywhere = ns_of(|answer| matches!(answer, Answer::SilenceAllCpus(_))) * 2 > case.ns(&pieces);
    let still_ns = ns_of(|answer| matches!(answer, Answer::StoodStill(_)));
    let requests: Vec<SilentRequest> =
        pieces.iter().filter_map(|&index| request_in(case, &case.pieces[index])).collect();
    let place = match () {
        _ if everywhere => SilentPlace::AllCpus,
        _ if still_ns * 2 > case.ns(&pieces) => stood_still(case, &pieces)?,
        _ => SilentPlace::NotDelivered,
    };
    let by = by(case);
    let confidence = match by {
        SilencedBy::Unknown => Confidence::Hint,
        _ => Confidence::Likely,
    };
    let facts = Silence {
        place,
        by,
        overdue: overdue(case, &pieces),
        still_elsewhere_ns: still_ns - requests.iter().map(|one| one.ns).sum::<i64>(),
        requests,
        came_in: came_in(case, &pieces),
    };
    Some(Claim { evidence: case.steal_time().into_iter().collect(), ..Claim::new(pieces, confidence, facts) })
}

/// A timer of another CPU that was overdue meanwhile.
fn overdue(case: &Case, pieces: &[usize]) -> Option<OverdueTimer> {
    let mut silent = pieces.iter().map(|&index| &case.pieces[index]);
    let (cpu, late_ns) =
        silent.find_map(|piece| overdue_elsewhere(case.trace, piece.cpu, piece.start_ns, piece.end_ns))?;
    Some(OverdueTimer { cpu, late_ns })
}

/// The holder of the CPU.
fn by(case: &Case) -> SilencedBy {
    // Where a steal clock counts, what others had is not silent but stolen.
    let stolen = case.steal_since_snapshot_ns().is_some_and(|ns| ns > 0) && !case.has_steal_clock();
    match case.virtualised().map(ForeignText::from) {
        host if stolen => SilencedBy::Stolen { host },
        Some(host) => SilencedBy::HostOrFirmware { host },
        None if case.bare_metal() => SilencedBy::FirmwareOrHardware,
        None => SilencedBy::Unknown,
    }
}

fn stood_still(case: &Case, pieces: &[usize]) -> Option<SilentPlace> {
    let longest = pieces.iter().map(|&index| &case.pieces[index]).max_by_key(|piece| piece.ns())?;
    let within = match (longest.answer.context(), request_in(case, longest)) {
        (_, Some(found)) => StoodStillIn::Request(found.request),
        (Context::Task { .. }, None) if switches(case, longest) => StoodStillIn::Switch,
        (Context::Task { .. }, None) => StoodStillIn::BetweenInterruptAndSoftirqs,
        (context, None) => StoodStillIn::Interrupt(context.named(case.names())),
    };
    Some(SilentPlace::StoodStill { cpu: longest.cpu, within })
}

/// Where the late interrupt came in, if that shows that interrupts were enabled.
fn came_in(case: &Case, pieces: &[usize]) -> Option<CameIn> {
    let not_delivered = |&index: &usize| matches!(case.pieces[index].answer, Answer::SilenceThisCpu(_));
    let entry = case.wake_interrupt_entry().filter(|_| pieces.iter().any(not_delivered))?;
    let activity = case.trace.cpu(entry.cpu)?;
    let code = match InterruptedCode::find(activity, case.trace, entry.ts_ns)? {
        InterruptedCode::UserSpace => UnmaskedCode::UserSpace,
        InterruptedCode::Neutral(function) => UnmaskedCode::Neutral(KernelName(function)),
        InterruptedCode::EnabledEarlier(function) => UnmaskedCode::EnabledEarlier(KernelName(function)),
        InterruptedCode::Entry(function) => UnmaskedCode::Entry(KernelName(function)),
        InterruptedCode::Enabling(_) => return None,
    };
    Some(CameIn { is_recorded: case.late_record().is_some(), code })
}

/// The request to the interrupt controller that a piece stood still in, and for how long.
fn request_in(case: &Case, piece: &Piece) -> Option<SilentRequest> {
    let (Answer::StoodStill(Context::Task { .. }), Some(activity)) = (piece.answer, case.trace.cpu(piece.cpu)) else {
        return None;
    };
    let mut pauses = activity.pauses(piece.start_ns, piece.end_ns, 0);
    let found = pauses.find_map(|(from_ns, to_ns)| request(activity, case.trace, from_ns, to_ns))?;
    Some(SilentRequest { request: found, ns: piece.ns() })
}

/// Whether the pause that a piece belongs to ends with the switch away from a thread that falls asleep.
fn switches(case: &Case, piece: &Piece) -> bool {
    let Some(activity) = case.trace.cpu(piece.cpu) else { return false };
    let mut pauses = activity.pauses(piece.start_ns, piece.end_ns, 0);
    pauses.any(|(from_ns, to_ns)| leads_to_a_switch(activity, from_ns, to_ns))
}
