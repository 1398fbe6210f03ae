//! Figures of the external board that gave the stimuli, beside the target's own figures.

use super::super::number;
use super::{latency_columns, said};
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
    html! {
        div.scroll tabindex="0" role="region" aria-labelledby="stimulus-board-caption" {
            table.figures {
                caption #stimulus-board-caption { "Answers that the board measured, in µs" }
                thead {
                    tr {
                        th scope="col" { "answers" }
                        th scope="col" { "overruns" }
                        (latency_columns::head())
                    }
                }
                tbody {
                    tr {
                        td { (number::grouped(board.board.answers)) }
                        td.nonzero[board.board.overruns > 0] { (number::grouped(board.board.overruns)) }
                        (latency_columns::cells(&board.latency_ns))
                    }
                }
            }
        }
    }
}
