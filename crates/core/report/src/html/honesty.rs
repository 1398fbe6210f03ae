//! Losses, departures from the request, and gaps of the archive. No loss is silent.

use super::super::number;
use super::said;
use archive::manifest::ImportedFrom;
use archive::problem::Code;
use archive::summary::{CpuSummary, RunSummary};
use maud::{Markup, html};
use words::vocabulary;

pub fn section(summary: &RunSummary) -> Markup {
    let troubled: Vec<&CpuSummary> =
        summary.cpus.iter().filter(|cpu| cpu.clock_anomalies > 0 || cpu.records_dropped > 0).collect();
    let clean = summary.problems.is_empty()
        && summary.losses.is_empty()
        && summary.gaps.is_empty()
        && troubled.is_empty()
        && summary.imported.is_none();
    html! {
        section #losses aria-labelledby="losses-title" {
            h2 #losses-title { "Losses and problems" }
            @if clean { p { "None: no data was lost, the run met the request, and the archive is complete." } }
            @if !summary.problems.is_empty() { (problems(summary)) }
            @if !summary.losses.is_empty() { (losses(summary)) }
            @if !troubled.is_empty() {
                h3 { "Counted by the measuring threads" }
                ul {
                    @for cpu in troubled {
                        li {
                            "CPU " (cpu.cpu) ": " (number::grouped(cpu.clock_anomalies)) " samples with a negative latency, "
                            (number::grouped(cpu.records_dropped)) " records dropped because the drain was late"
                        }
                    }
                }
            }
            @if let Some(imported) = &summary.imported { (unknown(imported)) }
            @if !summary.gaps.is_empty() {
                h3 { "Missing from the archive" }
                ul { @for gap in &summary.gaps { li { (said(&gap.text)) (code(&gap.code)) } } }
            }
        }
    }
}

fn unknown(imported: &ImportedFrom) -> Markup {
    html! {
        h3 { "Not in the source, so unknown here" }
        ul { @for lost in &imported.lost { li { (said(&lost.text)) } } }
    }
}

fn problems(summary: &RunSummary) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-labelledby="problems-caption" {
            table.problems {
                caption #problems-caption { "Differences from the request" }
                thead { tr { th scope="col" { "weight" } th scope="col" { "what" } th scope="col" { "fix" } } }
                tbody {
                    @for problem in &summary.problems {
                        tr {
                            td { span class={ "badge severity-" (vocabulary::severity(problem.severity)) } { (vocabulary::severity(problem.severity)) } }
                            td { (said(&problem.text)) (code(&problem.code)) }
                            td { @if !problem.fix.is_empty() { (said(&problem.fix)) } @else { "–" } }
                        }
                    }
                }
            }
        }
    }
}

/// The code of a problem, if it has one.
fn code(code: &Code) -> Markup {
    html! { @if *code != Code::UNCLASSIFIED { " " code { (said(code.as_str())) } } }
}

fn losses(summary: &RunSummary) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-labelledby="losses-caption" {
            table {
                caption #losses-caption { "Losses on the way" }
                thead { tr { th scope="col" { "what" } th.number scope="col" { "count" } th scope="col" { "detail" } } }
                tbody {
                    @for loss in &summary.losses {
                        tr {
                            th scope="row" { (said(loss.kind.as_str())) }
                            td.number { (number::grouped(loss.count)) }
                            td { (said(&loss.detail)) }
                        }
                    }
                }
            }
        }
    }
}
