//! The part of other CPUs in a late wake-up, and their activity meanwhile.

use crate::SpikeInput;
use crate::account::key_events::task_on_cpu;
use crate::cut::anchors::Anchors;
use crate::read::event::EventKind;
use crate::replay::context::{Context, ToolThreads};
use crate::replay::trace::{CpuActivity, Trace};
use std::collections::HashMap;
use words::figures::latency;

/// Maximum number of CPUs with their own sentence.
const CPUS_MAX: usize = 4;
/// Maximum number of owners in a sentence.
const OWNERS_MAX: usize = 3;
/// An owner below this percentage is not mentioned.
const PERCENT_MIN: i64 = 5;

/// The wake-up across CPUs first, then the activity of each other CPU between due and seen, the least idle first.
pub fn sentences(trace: &Trace, anchors: &Anchors, input: &SpikeInput, tool_threads: &ToolThreads) -> Vec<String> {
    let cpu = input.spike.sample.cpu;
    let mut sentences: Vec<String> = woken_from_elsewhere(trace, anchors, input, tool_threads).into_iter().collect();
    let mut others: Vec<(i64, &CpuActivity)> = trace
        .cpus
        .iter()
        .filter(|activity| activity.cpu != cpu)
        .map(|activity| (busy_ns(activity, trace), activity))
        .collect();
    others.sort_by_key(|(busy_ns, activity)| (std::cmp::Reverse(*busy_ns), activity.cpu));
    let busy = others.iter().filter(|(busy_ns, _)| *busy_ns > 0);
    sentences.extend(busy.clone().take(CPUS_MAX).filter_map(|(_, activity)| did(activity, trace)));
    let left = busy.count().saturating_sub(CPUS_MAX);
    if left > 0 {
        sentences.push(format!("{left} more CPUs were busy less"));
    }
    let idle = others.iter().filter(|(busy_ns, activity)| *busy_ns == 0 && !held(activity, trace).is_empty()).count();
    match idle {
        0 => {}
        1 => sentences.push("1 other CPU was idle all the time".into()),
        _ => sentences.push(format!("{idle} other CPUs were idle all the time")),
    }
    sentences
}

fn woken_from_elsewhere(
    trace: &Trace,
    anchors: &Anchors,
    input: &SpikeInput,
    tool_threads: &ToolThreads,
) -> Option<String> {
    let waking = anchors.waking?;
    let given = anchors.switched.or(anchors.woken)?;
    if waking.cpu == given.cpu {
        return None;
    }
    let mut events = trace.cpu(waking.cpu)?.events_between(waking.ts_ns, waking.ts_ns).iter();
    let event =
        events.find(|event| matches!(event.what, EventKind::Waking { tid, .. } if tid == tool_threads.own_tid))?;
    let runnable = anchors.woken.map_or(given.ts_ns, |woken| woken.ts_ns);
    let begun = if input.sample.is_wake_up() { "due" } else { input.sample.begun };
    Some(format!(
        "the wake-up came from another CPU: {} started it {} after {begun}; the thread was runnable on CPU {} {} later",
        task_on_cpu(event, &trace.names),
        latency(waking.ts_ns - trace.window.due_ns),
        given.cpu,
        latency(runnable - waking.ts_ns)
    ))
}

/// Time between due and seen in which a CPU was not idle.
fn busy_ns(activity: &CpuActivity, trace: &Trace) -> i64 {
    held(activity, trace).iter().filter(|(context, _)| !context.is_idle()).map(|(_, ns)| ns).sum()
}

/// The owners of a CPU between due and seen, with their times; unrecorded time is left out.
fn held(activity: &CpuActivity, trace: &Trace) -> Vec<(Context, i64)> {
    let window = trace.window;
    let mut sums: HashMap<Context, i64> = HashMap::new();
    for interval in activity.overlapping(window.due_ns, window.seen_ns) {
        if interval.context != Context::Untraced {
            let ns = interval.end_ns.min(window.seen_ns) - interval.start_ns.max(window.due_ns);
            *sums.entry(interval.context).or_default() += ns;
        }
    }
    let mut held: Vec<(Context, i64)> = sums.into_iter().collect();
    held.sort_by_key(|&(context, ns)| (std::cmp::Reverse(ns), context));
    held
}

fn did(activity: &CpuActivity, trace: &Trace) -> Option<String> {
    let latency_ns = (trace.window.seen_ns - trace.window.due_ns).max(1);
    let percent = |ns: i64| (i128::from(ns) * 100 / i128::from(latency_ns)) as i64;
    let held = held(activity, trace);
    let named: Vec<String> = held
        .iter()
        .filter(|(_, ns)| percent(*ns) >= PERCENT_MIN)
        .take(OWNERS_MAX)
        .map(|(context, ns)| format!("{} {} %", context.name(&trace.names), percent(*ns)))
        .collect();
    (!named.is_empty()).then(|| format!("CPU {} meanwhile: {}", activity.cpu, named.join(", ")))
}
