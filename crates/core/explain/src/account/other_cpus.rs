//! The part of other CPUs in a late wake-up, and their activity meanwhile.

use crate::cut::anchors::Anchors;
use crate::read::event::EventKind;
use crate::replay::context::{Context, ToolThreads};
use crate::replay::trace::{CpuActivity, Trace};
use archive::other_cpus::{HeldFor, OtherCpus};
use std::collections::HashMap;

/// Maximum number of CPUs whose holders are listed.
const CPUS_MAX: usize = 4;
/// Maximum number of holders of a CPU that are listed.
const HOLDERS_MAX: usize = 3;
/// A holder below this percentage of the latency is not listed.
const PERCENT_MIN: i64 = 5;

/// The wake-up across CPUs first, then the activity of each other CPU between due and seen, the least idle first.
pub fn facts(trace: &Trace, anchors: &Anchors, cpu: u32, tool_threads: &ToolThreads) -> Vec<OtherCpus> {
    let mut facts: Vec<OtherCpus> = woken_from_elsewhere(trace, anchors, tool_threads).into_iter().collect();
    let mut others: Vec<(i64, &CpuActivity)> = trace
        .cpus
        .iter()
        .filter(|activity| activity.cpu != cpu)
        .map(|activity| (busy_ns(activity, trace), activity))
        .collect();
    others.sort_by_key(|(busy_ns, activity)| (std::cmp::Reverse(*busy_ns), activity.cpu));
    let busy = others.iter().filter(|(busy_ns, _)| *busy_ns > 0);
    facts.extend(busy.clone().take(CPUS_MAX).filter_map(|(_, activity)| largest_holders(activity, trace)));
    let less_busy = busy.count().saturating_sub(CPUS_MAX);
    if less_busy > 0 {
        facts.push(OtherCpus::LessBusy { cpus: less_busy });
    }
    let idle = others.iter().filter(|(busy_ns, activity)| *busy_ns == 0 && !held(activity, trace).is_empty()).count();
    if idle > 0 {
        facts.push(OtherCpus::Idle { cpus: idle });
    }
    facts
}

fn woken_from_elsewhere(trace: &Trace, anchors: &Anchors, tool_threads: &ToolThreads) -> Option<OtherCpus> {
    let waking = anchors.waking?;
    let given = anchors.switched.or(anchors.woken)?;
    if waking.cpu == given.cpu {
        return None;
    }
    let mut events = trace.cpu(waking.cpu)?.events_between(waking.ts_ns, waking.ts_ns).iter();
    let event =
        events.find(|event| matches!(event.what, EventKind::Waking { tid, .. } if tid == tool_threads.own_tid))?;
    let runnable = anchors.woken.map_or(given.ts_ns, |woken| woken.ts_ns);
    Some(OtherCpus::WokeThread {
        waker: trace.names.task_name(event.tid),
        cpu: event.cpu,
        after_ns: waking.ts_ns - trace.window.due_ns,
        runnable_on: given.cpu,
        runnable_after_ns: runnable - waking.ts_ns,
    })
}

/// Time between due and seen in which a CPU was not idle.
fn busy_ns(activity: &CpuActivity, trace: &Trace) -> i64 {
    held(activity, trace).iter().filter(|(context, _)| !context.is_idle()).map(|(_, ns)| ns).sum()
}

/// The holders of a CPU between due and seen, with their times; unrecorded time is left out.
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

fn largest_holders(activity: &CpuActivity, trace: &Trace) -> Option<OtherCpus> {
    let latency_ns = (trace.window.seen_ns - trace.window.due_ns).max(1);
    let is_listed = |ns: i64| i128::from(ns) * 100 / i128::from(latency_ns) >= i128::from(PERCENT_MIN);
    let listed = held(activity, trace).into_iter().filter(|(_, ns)| is_listed(*ns)).take(HOLDERS_MAX);
    let by: Vec<HeldFor> = listed.map(|(context, ns)| HeldFor { who: context.named(&trace.names), ns }).collect();
    (!by.is_empty()).then_some(OtherCpus::Held { cpu: activity.cpu, by })
}
