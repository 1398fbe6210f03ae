//! The output after the test.

use super::figures::Figures;
use super::request::Request;
use super::tracing::{self, KeptTrace};
use super::{histogram_text, text};

/// Everything on standard output after the last sample.
pub fn standard_output(
    request: &Request,
    tail: &mut String,
    figures: &[Figures],
    broke: Option<(i32, i64)>,
    traces: &[KeptTrace],
    json: Option<&str>,
) {
    if request.json.as_deref() == Some("-") {
        tail.push_str(json.unwrap_or_default());
    }
    if request.quiet && request.histogram == 0 {
        figures.iter().for_each(|figures| text::thread_line(tail, &figures.line, request.nanoseconds));
    }
    if request.spike.is_some() {
        text::spikes(tail, figures, request.spike_nodes);
    }
    if request.histogram > 0 && request.histfile.is_none() {
        tail.push_str(&histogram_text::block(figures, request.compat, request.histogram_sum));
    }
    if request.breaktrace.is_some() {
        text::break_lines(tail, figures, broke);
    }
    if request.snapshot.is_some() {
        tracing::snapshot_lines(tail, traces, request.nanoseconds);
    }
}

/// Losses that cyclictest does not report.
pub fn print_losses(request: &Request, figures: &[Figures]) {
    let ended_by_loops = request.loops.is_some_and(|loops| figures.iter().any(|figures| figures.line.cycles >= loops));
    for figures in figures {
        let thread = figures.line.thread;
        let complain = |count: u64, text: &str| {
            if count > 0 {
                eprintln!("cyclictest: thread {thread}: {count} {text}");
            }
        };
        complain(
            figures.totals.missed_periods,
            "periods missed: the thread was not awake to measure them, their latencies are not in the result",
        );
        complain(figures.totals.clock_anomalies, "wake-ups before they were due: the clock was set back");
        complain(figures.samples_dropped, "samples not printed: the reader of standard output was too slow");
        let loops = request.loops.unwrap_or(u64::MAX);
        let made = figures.line.cycles;
        // The others end within a cycle of the first, plus or minus the one for which they were sleeping.
        if ended_by_loops && made + figures.totals.missed_periods + 2 < loops {
            eprintln!(
                "cyclictest: thread {thread}: {made} of {loops} loops, the first thread to finish ends the test \
                 (-d 0 makes them equal)"
            );
        }
    }
}
