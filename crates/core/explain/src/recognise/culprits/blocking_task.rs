//! An ordinary task keeps the CPU although the measuring thread is runnable: a section that cannot be preempted.

use super::about::{About, Proof};
use crate::read::event::{Event, EventKind};
use crate::recognise::case::{Case, Claim, held};
use crate::recognise::in_kernel::Signs;
use crate::replay::context::Context;
use archive::explanation::Confidence;
use archive::method::Stimulus;

pub const ABOUT: About = About {
    recognised: "a task keeps the CPU between sched_wakeup of the thread and the switch to it; above a hint only where events after the wake-up carry the kernel's demand to yield (N) or functions are recorded, and certain in a guest only where the CPU recorded events throughout, likely where the task was charged for all of the time, went on after several interrupts with that demand, or the kernel has no steal clock; a hint where the scheduler chose the task meanwhile",
    confirm: "tardy run --stack shows the function that the wake-up interrupted; the preemptoff tracer, where the kernel has it, the longest section",
    fix: "PREEMPT_RT or preempt=full; keep the task off the CPU (cpuset, taskset, isolcpus)",
    reading: &["Lock types and their rules", "ftrace - Function Tracer"],
    proof: Proof::Real,
};

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c>> {
    let blocks = |context: Context| match context {
        Context::Task { tid, .. } => tid != case.tool_threads.own_tid && !case.tool_threads.tool_tids.contains(&tid),
        _ => false,
    };
    let pieces = case.claim(|piece| case.kept_off(piece) && held(piece).is_some_and(blocks))?;
    let who = case.culprits(&pieces);
    let share = case.share(&pieces);
    let signs = Signs::of(case, &pieces);
    let inside = pieces.iter().flat_map(|&index| case.events_inside(&case.pieces[index]));
    let shows = inside.filter(|event| event.needs_resched() && event.preempt_off()).take(2);
    let events: Vec<_> = shows.copied().collect();
    let mut evidence = Vec::new();
    if !events.is_empty() {
        evidence.push("the kernel had asked it to yield (N) with preemption disabled".into());
    } else if signs.asked.is_some() {
        evidence.push("the kernel had asked it to yield (N)".into());
    }
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
    let (sentence, fix) = if case.own_is_ordinary() {
        (
            format!(
                "{who} kept the CPU after the measuring thread became runnable ({share}): the measuring thread has no real-time priority"
            ),
            match case.input.spike.watched {
                None => "run the measurement with --policy fifo --priority 80".to_owned(),
                Some(_) => format!(
                    "give it one: chrt -f -p 50 {}, or sched_setscheduler in the program",
                    case.tool_threads.own_tid
                ),
            },
        )
    } else if in_kernel == Confidence::Hint {
        let why = match signs.asked {
            _ if chosen => {
                "the scheduler chose it although the thread could run, so the thread was throttled or its priority changed"
            }
            None => "no event shows that the kernel asked it to yield",
            Some(_) if case.lacks_a_tick(&pieces) => {
                "not even the tick came meanwhile: either it had interrupts masked or the host had the CPU"
            }
            Some(_) => "no event shows that it was in the kernel",
        };
        (
            format!("{who} kept the CPU after the measuring thread became runnable ({share}): {why}"),
            "keep this task off the CPU (cpuset, taskset, isolcpus)".to_owned(),
        )
    } else {
        let model = case.input.environment.and_then(|environment| environment.preemption.as_deref());
        let (why, fix) = match model {
            Some(model @ ("none" | "voluntary" | "lazy")) => (
                format!(
                    "it was in the kernel, which with preempt={model} does not preempt a task until it finishes or yields"
                ),
                "boot with preempt=full or use a PREEMPT_RT kernel, or keep this task off the CPU (cpuset, taskset, isolcpus)",
            ),
            _ if case.preempt_rt() == Some(true) => (
                "it was in a kernel section that cannot be preempted".to_owned(),
                "find the section with the stack trace above and report it to the kernel's RT maintainers; until then \
                 keep this task off the CPU (cpuset, taskset, isolcpus)",
            ),
            _ => (
                "it was in a kernel section that cannot be preempted".to_owned(),
                "use a PREEMPT_RT kernel, or keep this task off the CPU (cpuset, taskset, isolcpus)",
            ),
        };
        (format!("{who} kept the CPU after the measuring thread became runnable ({share}): {why}"), fix.to_owned())
    };
    Some(Claim {
        pieces,
        confidence,
        sentence,
        events,
        evidence,
        confirm: if matches!(case.input.stimulus, Stimulus::Busy | Stimulus::OwnCall) && case.input.spike.watched.is_none() {
            // Its thread had the CPU when the sample began: no wake-up is part of it.
            "tardy run --stack shows in which function the task was; or the preemptoff tracer, where the kernel has it"
        } else {
            "tardy run --stack shows the function that the wake-up interrupted; or the preemptoff tracer, where the kernel has it"
        }
        .into(),
        fix,
    })
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
