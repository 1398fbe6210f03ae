//! A stretch that a latency tracer of the kernel recorded, from the kernel's text of it.

use archive::tracer::{LatencyTrace, TRACE_TEXT_BYTES_MAX, TracedFunction, TracedTask};
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

/// The whole lines that an archive keeps of a text.
pub fn kept(text: &str) -> &str {
    let most = usize::try_from(TRACE_TEXT_BYTES_MAX).unwrap_or(usize::MAX);
    match text.as_bytes().get(..most).filter(|_| text.len() > most) {
        Some(begun) => &text[..begun.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1)],
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_keeps_its_first_whole_lines() {
        let line = "a line of the kernel\n";
        assert_eq!(kept(line), line);
        let long = line.repeat(TRACE_TEXT_BYTES_MAX as usize / line.len() + 10);
        let begun = kept(&long);
        assert!(begun.ends_with('\n') && begun.len() as u64 <= TRACE_TEXT_BYTES_MAX);
        assert!(begun.len() + line.len() > TRACE_TEXT_BYTES_MAX as usize, "one more line would not fit");
    }
}
