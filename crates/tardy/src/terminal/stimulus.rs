//! What an external board measured that gave the stimuli, on a page.

use crate::terminal::page::Page;
use crate::terminal::table::{Align, Table};
use archive::summary::StimulusBoardSummary;
use report::stimulus::{OTHERS, TITLE, reservation, whose};
use words::figures::microseconds_rough;

/// Nothing without such a board.
pub fn lay_out(board: Option<&StimulusBoardSummary>, page: &mut Page) {
    let Some(board) = board else { return };
    page.blank();
    page.heading(TITLE);
    page.wrapped("  ", &format!("{} {OTHERS}", whose(board)));
    let figures = &board.latency_ns;
    let mut table = Table::new(&[Align::Right; 8]);
    table.row(["answers", "overruns", "min", "mean", "p50", "p99", "p99.9", "max µs"]);
    table.row([
        board.board.answers.to_string(),
        board.board.overruns.to_string(),
        microseconds_rough(figures.min),
        figures.mean.map_or("-".into(), |mean| format!("{:.1}", mean / 1e3)),
        microseconds_rough(figures.p50),
        microseconds_rough(figures.p99),
        microseconds_rough(figures.p99_9),
        microseconds_rough(figures.max),
    ]);
    page.blank();
    page.headed_table(&table);
    if let Some(reservation) = reservation(board) {
        page.wrapped("", reservation);
    }
}
