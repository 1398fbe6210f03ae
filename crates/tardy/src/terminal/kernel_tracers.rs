//! Measurements and kept traces of the kernel's own tracers, on a page.

use crate::terminal::latency_columns;
use crate::terminal::page::Page;
use crate::terminal::table::{Align, Table};
use archive::summary::KernelSeriesSummary;
use archive::tracer::LatencyTrace;
use report::kernel_tracers::latency_trace;
use words::figures::counted;

const TRACES_SHOWN: usize = 5;
const COLUMNS: [Align; 9] = [
    Align::Left,
    Align::Right,
    Align::Right,
    Align::Right,
    Align::Right,
    Align::Right,
    Align::Right,
    Align::Right,
    Align::Right,
];

/// A table of the kernel's measurements, to compare with tardy's; nothing if there are none.
pub fn lay_out_series(all: &[KernelSeriesSummary], page: &mut Page) {
    if all.is_empty() {
        return;
    }
    let mut table = Table::new(&COLUMNS);
    table.row(["by the kernel", "CPU", "values"].into_iter().chain(latency_columns::HEAD));
    for series in all {
        let whose = [series.name.clone(), series.cpu.to_string(), series.count.to_string()];
        table.row(whose.into_iter().chain(latency_columns::cells(&series.latency_ns)));
    }
    page.blank();
    page.headed_table(&table);
    for series in all.iter().filter(|series| series.records_lost > 0) {
        let text = format!("{} on CPU {}: {} lost", series.name, series.cpu, counted(series.records_lost, "record"));
        page.wrapped("  ", &text);
    }
}

/// The longest stretches that a latency tracer kept; nothing if there are none.
pub fn lay_out_latencies(traces: &[LatencyTrace], page: &mut Page) {
    let Some(first) = traces.first() else { return };
    page.blank();
    page.heading(&format!("Longest stretches that the kernel's tracer {} kept", first.tracer));
    for trace in traces.iter().take(TRACES_SHOWN) {
        page.wrapped(&format!("  #{:<3} ", trace.number), &latency_trace(trace));
    }
    if traces.len() > TRACES_SHOWN {
        page.line(&format!("  and {} more", traces.len() - TRACES_SHOWN));
    }
    page.wrapped("  ", "The kernel's text of each is in tracer/ of the archive.");
}

#[cfg(test)]
mod tests {
    use super::*;
    use archive::tracer::{TracedFunction, TracedTask};

    fn page_of(traces: &[LatencyTrace]) -> String {
        let mut page = Page::new(false);
        lay_out_latencies(traces, &mut page);
        page.text().split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_critical_section_is_reported_with_its_ends_and_its_longest_function() {
        let trace = LatencyTrace {
            number: 3,
            tracer: "irqsoff".into(),
            latency_ns: 259_000,
            cpu: Some(1),
            task: Some(TracedTask { name: "ps\x1b".into(), tid: 7, ..TracedTask::default() }),
            started_at: Some("lock_task".into()),
            ended_at: Some("unlock_task".into()),
            longest_function: Some(TracedFunction { name: "slow".into(), caller: "lock_task".into(), ns: 200_000 }),
            entries: 4,
            entries_written: 10,
            ..LatencyTrace::default()
        };
        let said = page_of(&[trace]);
        for part in [
            "tracer irqsoff kept",
            "#3 CPU 1, 259.0 µs from lock_task to unlock_task, in ps",
            "longest after slow, called by lock_task, 200.0 µs",
            "first 6 lines were overwritten",
        ] {
            assert!(said.contains(part), "{part}: {said}");
        }
        assert!(!said.contains('\x1b'));
    }

    #[test]
    fn a_wake_up_is_reported_with_who_was_woken() {
        let task = Some(TracedTask { name: "rcuc/1".into(), tid: 27, policy: 1, priority: 1 });
        let said = page_of(&[LatencyTrace { number: 1, latency_ns: 5_000, task, ..LatencyTrace::default() }]);
        assert!(said.contains("5.0 µs, until the CPU was given to rcuc/1-27 (priority 1)"), "{said}");
        assert_eq!(page_of(&[]), "");
    }
}
