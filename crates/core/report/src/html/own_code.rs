//! The program's own functions of a late cycle: a table, and a flame graph beside one of ordinary cycles.

use super::super::number;
use super::super::plot::flame::{self, Cycles};
use super::said;
use archive::own_code::OwnCode;
use maud::{Markup, PreEscaped, html};
use words::own_code::{callers, code, samples};

/// Rows of the table.
const FUNCTIONS_SHOWN: usize = 12;

pub fn own_code(own: &OwnCode) -> Markup {
    html! {
        div.functions {
            h4 { "The program's own functions" }
            @if !own.waits.is_empty() {
                table {
                    thead { tr { th scope="col" { "Off the CPU in" } th.number scope="col" { "Late cycle" } th.number scope="col" { "Times" } } }
                    tbody {
                        @for wait in &own.waits {
                            tr {
                                td { code { (said(callers(wait))) } }
                                td.number { (number::micros_unit(wait.ns)) }
                                td.number { (wait.count) }
                            }
                        }
                    }
                }
            }
            @if !own.functions.is_empty() { table {
                thead { tr { th scope="col" { "Function" } th.number scope="col" { "Late cycle" } th.number scope="col" { "Ordinarily" } } }
                tbody {
                    @for time in own.functions.iter().take(FUNCTIONS_SHOWN) {
                        tr {
                            td { code { (said(code(&time.code))) } }
                            td.number { (number::micros_unit(time.ns)) }
                            td.number { @if let Some(ns) = time.usual_ns { (number::micros_unit(ns)) } @else { "not known" } }
                        }
                    }
                }
            }
            p { (samples(&own.samples)) "." } }
            @for (cycles, title) in [(Cycles::Late, "The late cycle"), (Cycles::Ordinary, "Ordinary cycles before it")] {
                @if let Some(graph) = flame::draw(own, cycles) {
                    figure {
                        div.picture { (PreEscaped(graph.inline())) }
                        figcaption { (title) ": callers above the functions that they called." }
                    }
                }
            }
        }
    }
}
