//! Sentences about what the kernel's own tracers measured and recorded.

use archive::summary::RunSummary;
use archive::tracer::{LatencyTrace, TracedTask};
use words::figures::{count, counted, latency};
use words::vocabulary;

/// The number of snapshots that start too late, in a sentence; `None` if all reach back to the due instant.
pub fn uncovered(summary: &RunSummary) -> Option<String> {
    let snapshots = || summary.spikes.iter().filter_map(|entry| entry.spike.snapshot.as_ref());
    let short = snapshots().filter(|snapshot| !snapshot.window_covered).count() as u64;
    let traced = summary.effective.as_ref().and_then(|effective| effective.tracer.as_deref());
    let fewer = match traced {
        Some("function" | "function_graph") => ", or fewer functions (--functions, --functions-not)",
        _ => "",
    };
    (short > 0).then(|| {
        let all = counted(snapshots().count() as u64, "snapshot");
        format!(
            "{} of {all} begin after {}: a larger --buffer-kb reaches back further{fewer}",
            count(short),
            vocabulary::sample(summary).begun
        )
    })
}

/// The longest stretch that a latency tracer recorded, in a sentence.
pub fn latency_trace(trace: &LatencyTrace) -> String {
    let cpu = trace.cpu.map_or(String::new(), |cpu| format!("CPU {cpu}, "));
    let mut text = format!("{cpu}{}", latency(trace.latency_ns));
    match (&trace.started_at, &trace.ended_at) {
        (Some(start), Some(end)) => text.push_str(&format!(" from {start} to {end}")),
        (Some(start), None) => text.push_str(&format!(" from {start}")),
        _ => {}
    }
    if let Some(named) = &trace.task {
        let what = if trace.started_at.is_some() { "in" } else { "until the CPU was given to" };
        text.push_str(&format!(", {what} {}", task(named)));
    }
    if let Some(longest) = &trace.longest_function {
        let caller = if longest.caller.is_empty() { String::new() } else { format!(", called by {},", longest.caller) };
        text.push_str(&format!("; longest after {}{caller} {} until the next line", longest.name, latency(longest.ns)));
    }
    if trace.entries < trace.entries_written {
        let lost = trace.entries_written - trace.entries;
        text.push_str(&format!("; its first {} lines were overwritten", count(lost)));
    }
    if trace.cut {
        text.push_str("; the text is cut");
    }
    text
}

fn task(task: &TracedTask) -> String {
    match task.priority {
        0 => format!("{}-{}", task.name, task.tid),
        priority => format!("{}-{} (priority {priority})", task.name, task.tid),
    }
}
