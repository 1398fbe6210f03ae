//! Results of an external board that gave the stimuli, on a page.

use crate::terminal::latency_columns;
use crate::terminal::page::Page;
use crate::terminal::table::{Align, Table};
use archive::summary::StimulusBoardSummary;
use report::stimulus::{OTHERS, TITLE, reservation, whose};

/// Nothing without such a board.
pub fn lay_out(board: Option<&StimulusBoardSummary>, page: &mut Page) {
    let Some(board) = board else { return };
    page.blank();
    page.heading(TITLE);
    page.wrapped("  ", &format!("{} {OTHERS}", whose(board)));
    let mut table = Table::new(&[Align::Right; 8]);
    table.row(["answers", "overruns"].into_iter().chain(latency_columns::HEAD));
    let counts = [board.board.answers, board.board.overruns].map(|count| count.to_string());
    table.row(counts.into_iter().chain(latency_columns::cells(&board.latency_ns)));
    page.blank();
    page.headed_table(&table);
    if let Some(reservation) = reservation(board) {
        page.wrapped("", reservation);
    }
}
