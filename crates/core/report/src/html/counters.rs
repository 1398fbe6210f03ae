//! The kernel's counters, below the latency of the same seconds.

use super::super::plot::Plots;
use archive::counters::CounterSummary;
use archive::summary::RunSummary;
use maud::{Markup, PreEscaped, html};

/// Empty if no counters were read.
pub fn section(summary: &RunSummary, plots: &Plots) -> Markup {
    html! {
        @if let Some(svg) = &plots.counters {
            section #counters aria-labelledby="counters-title" {
                h2 #counters-title { "Activity of the machine" }
                figure {
                    div.picture { (PreEscaped(svg)) }
                    figcaption {
                        "The kernel's counters, read about once a second, over the same seconds as above. A peak at the time of a \
                         large latency is worth a look; it proves nothing."
                    }
                }
                (table(&summary.counters))
            }
        }
    }
}

fn table(figures: &[CounterSummary]) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-labelledby="counters-caption" {
            table {
                caption #counters-caption { "Over the whole run" }
                thead { tr {
                    th scope="col" { "counted" } th scope="col" { "unit" }
                    th.number scope="col" { "mean" } th.number scope="col" { "busiest second" }
                } }
                tbody {
                    @for figure in figures.iter().filter(|figure| figure.max > 0.0) {
                        tr {
                            th scope="row" { (super::said(&figure.name)) }
                            td { (super::said(&figure.unit)) }
                            td.number { (shown(figure.mean)) }
                            td.number { (shown(figure.max)) }
                        }
                    }
                }
            }
        }
    }
}

/// Counts as whole numbers, small values with decimals.
fn shown(value: f64) -> String {
    if value >= 100.0 { super::number::grouped(value.round() as u64) } else { format!("{value:.2}") }
}
