//! The chains that a watch followed: the verdict, the stage that was late and its cause, and the critical path of the worst instance.

use super::super::number;
use super::super::plot::Plots;
use super::super::plot::chain::key;
use super::ledger::swatch;
use super::said;
use archive::chain::{ChainAccount, ChainInstance, ChainShare, Segment};
use archive::summary::RunSummary;
use maud::{Markup, PreEscaped, html};
use words::chain::{culprits, finding, limit, segment, share_name, unlinked, verdict};
use words::sentence::sentence;

/// The heading of the section, and its link.
pub const TITLE: &str = "Chains";
/// Rows of a critical path.
const ROWS_MAX: usize = 200;

/// Empty where the run followed no chain.
pub fn section(summary: &RunSummary, plots: &Plots) -> Markup {
    if summary.chains.is_empty() {
        return html! {};
    }
    html! {
        section #chains aria-labelledby="chains-title" {
            h2 #chains-title { (TITLE) }
            p {
                "From the stimulus of a chain to its end, through every thread that it wakes. The run kept traces of some instances only, so the \
                 figures count those."
            }
            @for (index, (account, still)) in summary.chains.iter().zip(&plots.chains).enumerate() {
                (chain(index, account, still.as_deref()))
            }
        }
    }
}

fn chain(index: usize, account: &ChainAccount, still: Option<&str>) -> Markup {
    let worst = account.findings.iter().max_by_key(|finding| finding.latency_ns);
    html! {
        h3 { (said(account.name.0.as_str())) }
        p { (said(verdict(account))) "." }
        @if let Some(worst) = worst {
            @let [place, cause] = finding(worst, account.stages.len());
            p { (said(sentence(&place))) " " (said(cause)) "." }
        }
        @if account.findings.len() > 1 { p { "Causes of all: " (said(culprits(account))) "." } }
        @for text in unlinked(account).into_iter().chain(account.limits.iter().map(limit)) { p.note { (said(sentence(&text))) } }
        @if let Some(still) = still { div.picture { (PreEscaped(still)) } }
        @if let Some(worst) = account.worst().filter(|worst| !worst.segments.is_empty()) {
            (ledger(index, worst))
            (path(index, worst))
        }
        @if !account.stages.is_empty() { (stages(index, account)) }
    }
}

/// Sums of the worst instance.
fn ledger(index: usize, instance: &ChainInstance) -> Markup {
    let ns = |share: ChainShare| -> i64 {
        instance.segments.iter().filter(|segment| segment.share() == share).map(Segment::ns).sum()
    };
    let mut sums: Vec<(ChainShare, i64)> = ChainShare::ALL.map(|share| (share, ns(share))).to_vec();
    sums.retain(|(_, ns)| *ns > 0);
    sums.sort_by_key(|(share, ns)| (std::cmp::Reverse(*ns), *share));
    let total = instance.latency_ns();
    html! {
        div.scroll tabindex="0" role="region" aria-labelledby={ "chain-ledger-" (index) } {
            table.ledger {
                caption #{ "chain-ledger-" (index) } { "Ledger of the worst instance, from the stimulus to the end" }
                thead { tr { th scope="col" { "time" } th.number scope="col" { "µs" } th.number scope="col" { "share" } } }
                tbody {
                    @for (share, ns) in sums {
                        tr {
                            th scope="row" { (swatch(key(share))) (share_name(share)) }
                            td.number { (number::micros(ns)) }
                            td.number { (number::percent(ns, total)) }
                        }
                    }
                }
                tfoot { tr { th scope="row" { "latency" } td.number { (number::micros(total)) } td.number { (number::percent(total, total)) } } }
            }
        }
    }
}

/// Every stretch of the worst instance.
fn path(index: usize, instance: &ChainInstance) -> Markup {
    let left_out = instance.segments.len().saturating_sub(ROWS_MAX);
    html! {
        details {
            summary { "Critical path of the worst instance" }
            div.scroll tabindex="0" role="region" aria-labelledby={ "chain-path-" (index) } {
                table {
                    caption #{ "chain-path-" (index) } { "Each stretch, in µs from the stimulus" }
                    thead {
                        tr {
                            th.number scope="col" { "from" }
                            th.number scope="col" { "took" }
                            th scope="col" { "stage" }
                            th scope="col" { "thread" }
                            th scope="col" { "what it did" }
                        }
                    }
                    tbody {
                        @for part in instance.segments.iter().take(ROWS_MAX) {
                            @let [whose, what] = segment(part);
                            tr {
                                th.number scope="row" { (number::micros(part.start_ns - instance.stimulus_ns)) }
                                td.number { (number::micros(part.ns())) }
                                td { (part.stage + 1) }
                                td { (said(whose)) }
                                td { (swatch(key(part.share()))) (said(what)) }
                            }
                        }
                    }
                }
            }
            @if left_out > 0 { p.left-out { "The page leaves out " (number::grouped(left_out as u64)) " later stretches." } }
        }
    }
}

fn stages(index: usize, account: &ChainAccount) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-labelledby={ "chain-stages-" (index) } {
            table {
                caption #{ "chain-stages-" (index) } { "Stages over all instances, in µs" }
                thead { tr { th scope="col" { "stage" } th.number scope="col" { "median" } th.number scope="col" { "max" } } }
                tbody {
                    @for (number, stage) in (1..).zip(&account.stages) {
                        tr {
                            th scope="row" { (number) " " (said(stage.name.0.as_str())) }
                            td.number { (number::micros(stage.median_ns)) }
                            td.number { (number::micros(stage.max_ns)) }
                        }
                    }
                }
            }
        }
    }
}
