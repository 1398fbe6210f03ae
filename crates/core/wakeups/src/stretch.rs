//! A stretch that a latency tracer of the kernel recorded, from the kernel's text of it.

use archive::tracer::{LatencyTrace, TracedFunction, TracedTask};
use ftrace::latency_trace;

/// The stretch of a text with this number in its run. `copied_ns`: CLOCK_MONOTONIC of the copy. `cut`: the text was longer.
pub fn stretch(parsed: &latency_trace::LatencyTrace, number: u32, copied_ns: i64, cut: bool) -> LatencyTrace {
    let nanoseconds = |us: i64| us.saturating_mul(1000);
    LatencyTrace {
        number,
        tracer: parsed.tracer.clone(),
        latency_ns: nanoseconds(parsed.latency_us.unwrap_or(0).min(i64::MAX as u64) as i64),
        cpu: parsed.cpu,
        task: parsed.task.as_ref().map(|task| TracedTask {
            name: task.comm.clone(),
            tid: task.pid,
            policy: task.policy,
            priority: task.rt_priority,
        }),
        started_at: parsed.started_at.clone(),
        ended_at: parsed.ended_at.clone(),
        entries: parsed.entries,
        entries_written: parsed.entries_written,
        longest_function: parsed.longest_function().map(|longest| TracedFunction {
            name: longest.name.to_owned(),
            caller: longest.caller.to_owned(),
            ns: nanoseconds(longest.us),
        }),
        copied_ns,
        cut,
    }
}
