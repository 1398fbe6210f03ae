//! How sure a claim is where another tool recorded: times are less exact, where interrupts or softirqs are not recorded, they may
//! have had the CPU instead of a thread, and events that were not recorded or were lost may have shown another culprit.

use crate::account::ledger::Piece;
use crate::read::event::{Event, EventKind};
use crate::recognise::case::{Case, held};
use crate::replay::context::Context;
use archive::culprit::Culprit;
use archive::explanation::{Confidence, PhaseName};

pub fn confidence(case: &Case, culprit: Culprit, pieces: &[usize]) -> Confidence {
    let Some(precision) = case.input.recorder.precision() else { return Confidence::Certain };
    let uncertain_ns = precision.resolution_ns.max(precision.clock_spread_ns);
    if case.ns(pieces) <= uncertain_ns || may_be_another(case, culprit, pieces) {
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
fn may_be_another(case: &Case, culprit: Culprit, pieces: &[usize]) -> bool {
    let shown = case.trace.shown;
    let mostly = |wanted: &dyn Fn(&Piece) -> bool| {
        let these: Vec<usize> = pieces.iter().copied().filter(|&index| wanted(&case.pieces[index])).collect();
        case.ns(&these) * 2 > case.ns(pieces)
    };
    let is_asleep = || mostly(&|piece| piece.phase == PhaseName::TimerDelay);
    // The timer may have been started late, and another one may have been in its way.
    if !shown.timers && is_asleep() {
        return true;
    }
    // Without its wake-up the thread may have been stopped or frozen.
    let life_unknown = || case.anchors.waking.is_none() || switches_missing(case);
    match culprit {
        // The function of a timer may have had the time in the timer interrupt.
        Culprit::TimerInterrupt => !shown.timers,
        Culprit::Silence => !shown.interrupts || !shown.timers,
        // Timers distinguish a fair server from a period of throttling, and a task from a quota that is used up.
        Culprit::FairServer => !shown.timers || lost_events(case),
        Culprit::BlockingTask => !shown.timers && case.own_is_ordinary() || lost_events(case),
        Culprit::LateArm => !shown.interrupts || life_unknown() || lost_events(case),
        Culprit::IdleExit => {
            let throttled = || !shown.timers && mostly(&|piece| case.kept_off(piece));
            !shown.migrations && !is_asleep() || life_unknown() || throttled()
        }
        Culprit::Migration | Culprit::OwnWork => lacks_all_switches(case) || lost_events(case),
        Culprit::PreviousIrq => !shown.timers || case.anchors.waking.is_none() || lost_events(case),
        // Timers that expired late may have waited for a wake-up that is not recorded.
        Culprit::Timers => case.anchors.waking.is_none(),
        _ => false,
    }
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
