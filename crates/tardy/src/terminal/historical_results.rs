//! The historical results with figures, as a table.

use super::table::{Align, Table};
use interchange::exports::published_results::{TITLES, historical};

pub fn table() -> Table {
    let right = |title: &str| if title.ends_with(" us") { Align::Right } else { Align::Left };
    let shown = [1, 3, 4, 5, 8, 9, 10];
    let mut table = Table::new(&shown.map(|at| right(TITLES[at])));
    table.row(shown.map(|at| TITLES[at].to_owned()));
    for result in historical().into_iter().filter(|result| result.max_us.is_some()) {
        let cells = result.cells();
        table.row(shown.map(|at| cells[at].clone()));
    }
    table
}
