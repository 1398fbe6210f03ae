//! Results of the other machine of a measurement, on a page.

use crate::terminal::latency_columns;
use crate::terminal::page::Page;
use crate::terminal::table::{Align, Table};
use archive::summary::RunSummary;
use report::roles::{TITLE, clocks, outside, reservations, whose};
use words::figures::count;

/// Nothing where one machine measured.
pub fn lay_out(summary: &RunSummary, page: &mut Page) {
    for other in &summary.roles {
        page.blank();
        page.heading(TITLE);
        page.wrapped("  ", &format!("{} {}", whose(other), clocks(other)));
        let mut table = Table::new(&[Align::Right; 8]);
        table.row(["samples", "no signal"].into_iter().chain(latency_columns::HEAD));
        let counts = [other.samples, other.unanswered].map(count);
        table.row(counts.into_iter().chain(latency_columns::cells(&other.latency_ns)));
        page.blank();
        page.headed_table(&table);
        for sentence in outside(summary, other).into_iter().chain(reservations(other)) {
            page.wrapped("", &sentence);
        }
    }
}
