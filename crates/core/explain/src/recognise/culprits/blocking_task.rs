//! An ordinary task keeps the CPU although the measuring thread is runnable: a section that cannot be preempted.

use super::about::{About, Proof, SWITCHED, Unrecorded};
use crate::read::event::{Event, EventKind};
use crate::recognise::case::{Case, Claim, held};
use crate::recognise::evidence::in_kernel::Signs;
use crate::replay::context::Context;
use archive::culprit::{AskedToYield, BlockingTask, WhyBlocking};
use archive::explanation::Confidence;
use archive::method::Stimulus;

pub const ABOUT: About = About {
    recognised: "a task keeps the CPU between sched_wakeup of the thread and the switch to it; above a hint only where events after the wake-up have need_resched set (N) or functions are recorded, and certain in a guest only where the CPU recorded events throughout, likely where the task was charged for all of the time, kept running after several interrupts with need_resched set, or the kernel has no steal clock; a hint where the scheduler chose the task meanwhile",
    events: SWITCHED,
    shows: "the task kept the CPU after the wake-up with need_resched set",
    reading: &["Lock types and their rules", "ftrace - Function Tracer"],
    proof: Proof::Real { at_most: Confidence::Certain },
    refuted_by: &[Unrecorded::TimersOfQuota, Unrecorded::LostEvents],
};

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c, BlockingTask>> {
    let blocks = |context: Context| match context {
        Context::Task { tid, .. } => tid != case.tool_threads.own_tid && !case.tool_threads.tool_tids.contains(&tid),
        _ => false,
    };
    let pieces = case.claim(|piece| case.kept_off(piece) && held(piece).is_some_and(blocks))?;
    let signs = Signs::of(case, &pieces);
    let inside = pieces.iter().flat_map(|&index| case.events_inside(&case.pieces[index]));
    let shows = inside.filter(|event| event.needs_resched() && event.preempt_off()).take(2);
    let events: Vec<_> = shows.copied().collect();
    let asked = match events.is_empty() {
        false => Some(AskedToYield::WithPreemptionDisabled),
        true => signs.asked.map(|_| AskedToYield::Asked),
    };
    let events = if events.is_empty() { signs.asked.into_iter().collect() } else { events };
    let switched_away = case.event(|event| {
        event.cpu == case.cpu()
            && Some(event.ts_ns) == case.anchors.switched.map(|anchor| anchor.ts_ns)
            && matches!(event.what, EventKind::Switch { .. })
    });
    let switched = if switched_away.is_some() { Confidence::Certain } else { Confidence::Likely };
    let in_kernel = signs.confidence(case, &pieces);
    let chosen = is_chosen_again(case, &pieces);
    let in_kernel = if chosen { Confidence::Hint } else { in_kernel };
    let confidence = if case.own_is_ordinary() { switched } else { switched.min(in_kernel) };
    let facts = BlockingTask {
        who: case.holders(&pieces),
        asked,
        why: if case.own_is_ordinary() {
            WhyBlocking::NoPriority { tid: case.tool_threads.own_tid }
        } else if in_kernel == Confidence::Hint {
            match signs.asked {
                _ if chosen => WhyBlocking::ChosenAgain,
                None => WhyBlocking::NotAsked,
                Some(_) if case.lacks_a_tick(&pieces) => WhyBlocking::NoTick,
                Some(_) => WhyBlocking::NotInKernel,
            }
        } else {
            section(case)
        },
        without_wake_up: matches!(case.input.stimulus, Stimulus::Busy | Stimulus::OwnCall)
            && case.input.spike.watched.is_none(),
    };
    Some(Claim { events, ..Claim::new(pieces, confidence, facts) })
}

/// Why the kernel did not preempt a task in a system call.
fn section(case: &Case) -> WhyBlocking {
    match case.input.environment.and_then(|environment| environment.preemption.as_deref()) {
        Some(model @ ("none" | "voluntary" | "lazy")) => WhyBlocking::KernelNotPreemptible { model: model.into() },
        _ => WhyBlocking::Section { preempt_rt: case.preempt_rt() == Some(true) },
    }
}

/// Part of the time that may pass after the scheduler decided for another task.
const CHOSEN_PERCENT_MAX: i64 = 30;

/// Whether the scheduler decided while the thread could run, and chose another task for most of the time: that task was not
/// in a section that cannot be preempted. A switch to a task shows it, or that the kernel no longer asks the task to yield that
/// it asked before. A thread that is woken several times waits for a CPU several times: a decision counts for its own wait.
fn is_chosen_again(case: &Case, pieces: &[usize]) -> bool {
    let waits = pieces.chunk_by(|before, after| is_one_wait(case, *before, *after));
    let chosen_ns: i64 = waits.map(|wait| chosen_ns(case, wait)).sum();
    chosen_ns * 100 > case.ns(pieces) * CHOSEN_PERCENT_MAX
}

/// Whether the thread neither slept nor ran between two pieces.
fn is_one_wait(case: &Case, before: usize, after: usize) -> bool {
    (before..=after).all(|index| case.kept_off(&case.pieces[index]))
}

/// Time of one wait after the scheduler decided for another task.
fn chosen_ns(case: &Case, wait: &[usize]) -> i64 {
    let parts = || wait.iter().map(|&index| &case.pieces[index]);
    let (Some(first), Some(last)) = (parts().next(), parts().next_back()) else { return 0 };
    let Some(activity) = case.trace.cpu(first.cpu) else { return 0 };
    let mut asked = None;
    let decides = |event: &&Event| {
        // Within the switch to the thread itself the request is gone as well.
        let goes_on = !event.is_function() && !event.preempt_off();
        let yielded = asked == Some(event.tid) && goes_on && !event.needs_resched();
        if event.needs_resched() {
            asked = Some(event.tid);
        }
        match event.what {
            EventKind::Switch { next, .. } => next != case.tool_threads.own_tid,
            _ => yielded,
        }
    };
    let Some(decided) = activity.events_between(first.start_ns, last.end_ns).iter().find(decides) else { return 0 };
    let after = parts().filter(|piece| piece.cpu == first.cpu);
    after.map(|piece| (piece.end_ns - piece.start_ns.max(decided.ts_ns)).max(0)).sum()
}
