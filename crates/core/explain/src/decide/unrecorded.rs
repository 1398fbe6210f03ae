//! How sure a claim is where another tool recorded: times are less exact, where interrupts or softirqs are not recorded, they may
//! have had the CPU instead of a thread, and events that were not recorded or were lost may have shown another culprit.

use crate::account::ledger::Piece;
use crate::read::event::{Event, EventKind};
use crate::recognise::case::{Case, held};
use crate::recognise::culprits::Unrecorded;
use crate::replay::context::Context;
use archive::explanation::{Confidence, PhaseName};

/// `refuted_by`: what would show another culprit.
pub fn confidence(case: &Case, refuted_by: &[Unrecorded], pieces: &[usize]) -> Confidence {
    let Some(precision) = case.input.recorder.precision() else { return Confidence::Certain };
    let uncertain_ns = precision.resolution_ns.max(precision.clock_spread_ns);
    if case.ns(pieces) <= uncertain_ns || may_be_another(case, refuted_by, pieces) {
        return Confidence::Hint;
    }
    let shown = case.trace.shown;
    if shown.interrupts && shown.softirqs {
        return Confidence::Certain;
    }
    let of_tasks: Vec<usize> = pieces
        .iter()
        .copied()
        .filter(|&index| matches!(held(&case.pieces[index]), Some(Context::Task { .. })))
        .collect();
    if case.ns(&of_tasks) * 2 <= case.ns(pieces) {
        return Confidence::Certain;
    }
    // An urgent thread keeps the CPU whatever interrupts it; any other one may only seem to.
    let urgent = |&&index: &&usize| {
        let piece = &case.pieces[index];
        let tid = piece.answer.context().tid().unwrap_or_default();
        tid == case.tool_threads.own_tid || case.outranks(tid, piece)
    };
    let urgent: Vec<usize> = of_tasks.iter().filter(urgent).copied().collect();
    if case.ns(&urgent) * 2 > case.ns(pieces) { Confidence::Likely } else { Confidence::Hint }
}

/// Whether an event that the recording lacks would show another culprit in these pieces.
fn may_be_another(case: &Case, refuted_by: &[Unrecorded], pieces: &[usize]) -> bool {
    // The timer may have been started late, and another one may have been in its way.
    let timer_unknown = !case.trace.shown.timers && is_asleep(case, pieces);
    timer_unknown || refuted_by.iter().any(|part| is_missing(case, *part, pieces))
}

fn is_missing(case: &Case, part: Unrecorded, pieces: &[usize]) -> bool {
    let shown = case.trace.shown;
    match part {
        Unrecorded::Interrupts => !shown.interrupts,
        Unrecorded::Timers => !shown.timers,
        Unrecorded::TimersOfQuota => !shown.timers && case.own_is_ordinary(),
        Unrecorded::TimersOfThrottling => !shown.timers && mostly(case, pieces, |piece| case.kept_off(piece)),
        Unrecorded::Migration => !shown.migrations && !is_asleep(case, pieces),
        Unrecorded::WakeUp => case.anchors.waking.is_none(),
        Unrecorded::Switch => switches_missing(case),
        Unrecorded::SwitchesOfCpu => lacks_all_switches(case),
        Unrecorded::LostEvents => lost_events(case),
    }
}

fn is_asleep(case: &Case, pieces: &[usize]) -> bool {
    mostly(case, pieces, |piece| piece.phase == PhaseName::TimerDelay)
}

fn mostly(case: &Case, pieces: &[usize], wanted: impl Fn(&Piece) -> bool) -> bool {
    let these: Vec<usize> = pieces.iter().copied().filter(|&index| wanted(&case.pieces[index])).collect();
    case.ns(&these) * 2 > case.ns(pieces)
}

/// Whether a CPU lacks a switch that must have happened.
fn switches_missing(case: &Case) -> bool {
    case.trace.cpus.iter().any(|activity| activity.switches_missing > 0) || lacks_all_switches(case)
}

/// Whether a CPU for which a thread was woken shows no switch at all.
fn lacks_all_switches(case: &Case) -> bool {
    let events =
        || case.trace.cpus.iter().flat_map(|activity| activity.before.events().chain(activity.events.iter().copied()));
    let is_woken_for = |cpu: u32| {
        let target = |event: Event| match event.what {
            EventKind::Waking { target_cpu, .. } | EventKind::Wakeup { target_cpu, .. } => Some(i64::from(target_cpu)),
            _ => None,
        };
        events().any(|event| target(event) == Some(i64::from(cpu)))
    };
    case.trace.cpus.iter().any(|activity| {
        let has_switch =
            || events().any(|event| event.cpu == activity.cpu && matches!(event.what, EventKind::Switch { .. }));
        !has_switch() && is_woken_for(activity.cpu)
    })
}

/// Whether events of any CPU were lost between due and seen.
fn lost_events(case: &Case) -> bool {
    let window = case.trace.window;
    let mut lost = case.trace.cpus.iter().flat_map(|activity| &activity.lost_records);
    lost.any(|lost| (window.due_ns..=window.seen_ns).contains(&lost.ts_ns))
}
