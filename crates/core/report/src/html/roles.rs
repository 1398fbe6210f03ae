//! Figures of the other machine of a measurement, beside the run's own figures.

use super::super::number;
use super::{latency_columns, said};
use crate::roles::{TITLE, clocks, outside, reservations, whose};
use archive::summary::{RoleSummary, RunSummary};
use maud::{Markup, html};

/// Empty where one machine measured.
pub fn section(summary: &RunSummary) -> Markup {
    if summary.roles.is_empty() {
        return html! {};
    }
    html! {
        section #roles aria-labelledby="roles-title" {
            h2 #roles-title { (TITLE) }
            @for other in &summary.roles {
                p { (said(whose(other))) " " (said(clocks(other))) }
                (table(other))
                @if let Some(outside) = outside(summary, other) { p { (said(outside)) } }
                @for reservation in reservations(other) { p.note { (said(reservation)) } }
            }
        }
    }
}

fn table(other: &RoleSummary) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-labelledby={ "role-" (other.role) } {
            table.figures {
                caption #{ "role-" (other.role) } { "Samples of " (said(other.target.clone())) ", in µs" }
                thead {
                    tr {
                        th scope="col" { "samples" }
                        th scope="col" { "no signal" }
                        (latency_columns::head())
                    }
                }
                tbody {
                    tr {
                        td { (number::grouped(other.samples)) }
                        td.nonzero[other.unanswered > 0] { (number::grouped(other.unanswered)) }
                        (latency_columns::cells(&other.latency_ns))
                    }
                }
            }
        }
    }
}
