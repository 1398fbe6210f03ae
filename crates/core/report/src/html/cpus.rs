//! The table of latencies, one row per CPU.

use super::super::number;
use super::said;
use crate::watched::{is_watch, subject};
use archive::summary::{LatencyFigures, RunSummary};
use maud::{Markup, html};
use words::vocabulary;

const QUANTILES: [(&str, f64); 7] = [
    ("p50", 0.5),
    ("p90", 0.9),
    ("p99", 0.99),
    ("p99.9", 0.999),
    ("p99.99", 0.9999),
    ("p99.999", 0.99999),
    ("p99.9999", 0.999999),
];

pub fn table(summary: &RunSummary) -> Markup {
    if summary.cpus.is_empty() {
        return html! {};
    }
    let what = subject(summary);
    let limited = summary.settings.as_ref().is_some_and(|settings| settings.limit_ns.is_some());
    let total = |of: fn(&archive::summary::CpuSummary) -> u64| summary.cpus.iter().map(of).fold(0, u64::saturating_add);
    let missed =
        summary.cpus.iter().map(|cpu| cpu.missed).try_fold(0u64, |sum, missed| Some(sum.saturating_add(missed?)));
    let adds_up = summary.cpus.len() > 1 && !is_watch(summary);
    let word = vocabulary::sample(summary);
    let most = summary.cpus.iter().map(|cpu| cpu.cycles).max().unwrap_or(0);
    let resolved = resolved_quantiles(if adds_up { total(|cpu| cpu.cycles) } else { most });
    let some_are_few =
        resolved.last().is_some_and(|(_, quantile)| summary.cpus.iter().any(|cpu| are_few(cpu.cycles, *quantile)));
    html! {
        div.scroll tabindex="0" role="region" aria-labelledby="cpus-caption" {
            table.figures {
                caption #cpus-caption { "Latency of each " (what) " in µs" }
                thead {
                    tr {
                        th scope="col" { (what) }
                        // Beside the name, so that a narrow screen shows it without scrolling.
                        th scope="col" { "max" }
                        th scope="col" { "cycles" }
                        th scope="col" { "missed" }
                        @if limited { th scope="col" { "over limit" } }
                        th scope="col" { "min" }
                        th scope="col" { "mean" }
                        @for (name, _) in resolved { th scope="col" { (name) } }
                    }
                }
                tbody {
                    @for cpu in &summary.cpus {
                        tr {
                            th scope="row" data-aside[cpu.aside] {
                                @if cpu.watched.is_some() { (said(vocabulary::series(cpu))) } @else { (cpu.cpu) }
                                @if cpu.aside { " (does not count)" }
                            }
                            (cell(cpu.latency_ns.max, "worst"))
                            (counts(cpu.cycles, cpu.missed, limited.then_some(cpu.over_limit)))
                            (figures(&cpu.latency_ns, cpu.cycles, resolved))
                        }
                    }
                }
                // Latencies and cycle lengths cannot be summed.
                @if adds_up {
                    tfoot {
                        tr {
                            th scope="row" { "all" }
                            (cell(summary.all_cpus.max, "worst"))
                            (counts(total(|c| c.cycles), missed, limited.then(|| total(|c| c.over_limit))))
                            (figures(&summary.all_cpus, total(|c| c.cycles), resolved))
                        }
                    }
                }
            }
        }
        p.note {
            "Missed: periods without a " (word.one) ", because the thread was late by more than an interval."
            @if let Some((name, _)) = resolved.last() {
                " " (name) ": " (&name[1..]) (number::THIN) "% of the " (word.many) " were no " (word.later) " than this, rounded up by at \
                 most 0.1" (number::THIN) "%."
            }
            @if some_are_few {
                " A quantile in " span.few { "grey italics" }
                " asks for more " (word.many) " than there were; it is the maximum."
            }
            @if let Some(imported) = &summary.imported {
                " A dash: the source does not say."
                @if imported.resolution_ns > 1 {
                    " The source rounded every latency down to a multiple of "
                    (number::axis_time(imported.resolution_ns as f64)) "."
                }
            }
        }
    }
}

fn counts(cycles: u64, missed: Option<u64>, over: Option<u64>) -> Markup {
    html! {
        td { (number::grouped(cycles)) }
        td.nonzero[missed.is_some_and(|missed| missed > 0)] { (missed.map_or("–".into(), number::grouped)) }
        @if let Some(over) = over { td.nonzero[over > 0] { (number::grouped(over)) } }
    }
}

/// The quantiles that this number of wake-ups resolves: all others equal the maximum, and would make the table too
/// wide.
fn resolved_quantiles(cycles: u64) -> &'static [(&'static str, f64)] {
    let resolved = QUANTILES.iter().position(|(_, quantile)| are_few(cycles, *quantile)).unwrap_or(QUANTILES.len());
    &QUANTILES[..resolved]
}

/// Whether a quantile needs more wake-ups than these.
fn are_few(cycles: u64, quantile: f64) -> bool {
    (cycles as f64) * (1.0 - quantile) < 1.0 - 1e-9
}

fn figures(figures: &LatencyFigures, cycles: u64, resolved: &[(&str, f64)]) -> Markup {
    let quantiles =
        [figures.p50, figures.p90, figures.p99, figures.p99_9, figures.p99_99, figures.p99_999, figures.p99_9999];
    html! {
        (cell(figures.min, ""))
        // Fractions of a nanosecond in a mean are meaningless.
        (cell(figures.mean.map(|mean| mean.round() as i64), ""))
        @for ((_, quantile), value) in resolved.iter().zip(quantiles) {
            (cell(value, if are_few(cycles, *quantile) { "few" } else { "" }))
        }
    }
}

fn cell(value: Option<i64>, class: &str) -> Markup {
    html! { td class=[(!class.is_empty()).then_some(class)] { (value.map_or("–".into(), number::micros)) } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantile_is_reported_as_soon_as_one_wake_up_may_lie_beyond_it() {
        let names = |cycles| resolved_quantiles(cycles).iter().map(|(name, _)| *name).collect::<Vec<_>>();
        assert_eq!(names(0), [""; 0]);
        assert_eq!(names(999), ["p50", "p90", "p99"]);
        assert_eq!(names(1000).last(), Some(&"p99.9"));
        assert_eq!(names(99_999).last(), Some(&"p99.99"));
        assert_eq!(names(1_000_000).len(), QUANTILES.len());
    }
}
