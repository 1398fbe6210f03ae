//! Results of the kernel's own tracers during the run.

use super::super::number;
use super::{latency_columns, said};
use archive::summary::{KernelSeriesSummary, RunSummary};
use archive::tracer::LatencyTrace;
use maud::{Markup, html};

/// Empty if the run used none of them.
pub fn section(summary: &RunSummary) -> Markup {
    if summary.kernel_series.is_empty() && summary.latency_traces.is_empty() {
        return html! {};
    }
    html! {
        section #kernel-tracers aria-labelledby="kernel-tracers-title" {
            h2 #kernel-tracers-title { "Measured by the kernel" }
            @if !summary.kernel_series.is_empty() { (series_table(&summary.kernel_series)) }
            @if !summary.latency_traces.is_empty() { (latency_table(&summary.latency_traces)) }
        }
    }
}

fn series_table(all: &[KernelSeriesSummary]) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-labelledby="kernel-series-caption" {
            table.figures {
                caption #kernel-series-caption { "Values of the kernel's tracers in µs" }
                thead {
                    tr {
                        th scope="col" { "what" }
                        th scope="col" { "CPU" }
                        th scope="col" { "values" }
                        th scope="col" { "lost" }
                        (latency_columns::head())
                    }
                }
                tbody {
                    @for series in all {
                        tr {
                            th scope="row" { (said(&series.name)) }
                            td { (series.cpu) }
                            td { (number::grouped(series.count)) }
                            td.nonzero[series.records_lost > 0] { (number::grouped(series.records_lost)) }
                            (latency_columns::cells(&series.latency_ns))
                        }
                    }
                }
            }
        }
        p.note {
            "timerlat: how late a timer's interrupt came, and the kernel thread it wakes. osnoise: what interrupts and \
             other threads took from a busy thread in each period, the longest single piece, and each piece by its kind. \
             hwlat: gaps above the threshold while interrupts were off, within a pair of clock reads and between two pairs."
        }
    }
}

fn latency_table(traces: &[LatencyTrace]) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-labelledby="latency-traces-caption" {
            table {
                caption #latency-traces-caption { "Stretches that a latency tracer kept, longest first" }
                thead {
                    tr {
                        th scope="col" { "number" }
                        th scope="col" { "tracer" }
                        th.number scope="col" { "µs" }
                        th scope="col" { "CPU" }
                        th scope="col" { "thread" }
                        th scope="col" { "from" }
                        th scope="col" { "to" }
                        th scope="col" { "longest after" }
                        th.number scope="col" { "µs" }
                    }
                }
                tbody {
                    @for trace in traces {
                        tr {
                            th scope="row" { (trace.number) }
                            td { (said(&trace.tracer)) }
                            td.number { (number::micros(trace.latency_ns)) }
                            td { @if let Some(cpu) = trace.cpu { (cpu) } @else { "–" } }
                            td { @if let Some(task) = &trace.task { (said(&task.name)) "-" (task.tid) } @else { "–" } }
                            td { (place(trace.started_at.as_ref())) }
                            td { (place(trace.ended_at.as_ref())) }
                            td { (place(trace.longest_function.as_ref().map(|longest| &longest.name))) }
                            td.number { @if let Some(longest) = &trace.longest_function { (number::micros(longest.ns)) } }
                        }
                    }
                }
            }
        }
        p.note {
            "From and to: the functions between which interrupts or preemption were off. Longest after: the function that \
             was entered before the longest silence of that CPU. The kernel's text of each is in " code { "tracer/" }
            " of the archive."
        }
    }
}

fn place(function: Option<&String>) -> Markup {
    html! { @if let Some(function) = function { code { (said(function)) } } @else { "–" } }
}
