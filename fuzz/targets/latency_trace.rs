//! Any bytes as the output of a latency tracer.
#![no_main]

use ftrace::latency_trace::LatencyTrace;
use libfuzzer_sys::fuzz_target;
use tardy_fuzz::within_budget;

fuzz_target!(|bytes: &[u8]| {
    within_budget(bytes.len(), || {
        let text = String::from_utf8_lossy(bytes);
        let trace = LatencyTrace::parse(&text);
        assert!(trace.lines.len() + trace.other_lines <= text.lines().count());
        trace.longest_function();
    });
});
