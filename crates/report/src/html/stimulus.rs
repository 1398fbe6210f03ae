//! What an external board measured that gave the stimuli, beside the target's own figures.

use super::super::number;
use super::said;
use crate::plot::Plots;
use crate::stimulus::{OTHERS, OVERRUNS, TITLE, reservation, whose};
use archive::summary::{RunSummary, StimulusBoardSummary};
use maud::{Markup, PreEscaped, html};

/// Empty if the target or its own wire gave the stimuli.
pub fn section(summary: &RunSummary, plots: &Plots) -> Markup {
    let Some(board) = &summary.stimulus_board else { return html! {} };
    html! {
        section #stimulus-board aria-labelledby="stimulus-board-title" {
            h2 #stimulus-board-title { (TITLE) }
            p { (said(whose(board))) " " (OTHERS) }
            (table(board))
            p.note {
                (OVERRUNS)
                @if let Some(reservation) = reservation(board) { " " (reservation) }
            }
            @if let Some(svg) = &plots.board {
                figure {
                    div.picture { (PreEscaped(svg)) }
                    figcaption {
                        "The board's histogram: cells of 1 µs, the last one with everything longer. It may have answers from while \
                         the board warmed up, which are in no other figure."
                    }
                }
            }
        }
    }
}

fn table(board: &StimulusBoardSummary) -> Markup {
    let figures = &board.latency_ns;
    html! {
        div.scroll tabindex="0" role="region" aria-labelledby="stimulus-board-caption" {
            table.figures {
                caption #stimulus-board-caption { "Answers that the board measured, in µs" }
                thead {
                    tr {
                        th scope="col" { "answers" }
                        th scope="col" { "overruns" }
                        th scope="col" { "min" }
                        th scope="col" { "mean" }
                        th scope="col" { "p50" }
                        th scope="col" { "p99" }
                        th scope="col" { "p99.9" }
                        th scope="col" { "max" }
                    }
                }
                tbody {
                    tr {
                        td { (number::grouped(board.board.answers)) }
                        td.nonzero[board.board.overruns > 0] { (number::grouped(board.board.overruns)) }
                        (cell(figures.min))
                        (cell(figures.mean.map(|mean| mean.round() as i64)))
                        (cell(figures.p50))
                        (cell(figures.p99))
                        (cell(figures.p99_9))
                        (cell(figures.max))
                    }
                }
            }
        }
    }
}

fn cell(ns: Option<i64>) -> Markup {
    html! { td { (ns.map_or("–".into(), number::micros)) } }
}
