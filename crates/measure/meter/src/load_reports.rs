//! Reports on loads for the host: their state, and once for each failed load that the run is not as requested.

use crate::link::Link;
use archive::message::{Message, Severity};
use load::Report;
use std::collections::BTreeSet;
use std::io::Write;

/// Sends reports. `reported` contains the names of loads whose failure was already reported. Returns whether a load has died.
pub fn send<W: Write>(reports: Vec<Report>, reported: &mut BTreeSet<String>, link: &mut Link<W>) -> bool {
    let died = reports.iter().any(Report::has_died);
    for load in reports.iter().filter_map(Report::problem) {
        if reported.insert(load.name.clone()) {
            link.problem(Severity::Invalid, &load);
        }
    }
    if !reports.is_empty() {
        link.send(&Message::Loads(reports.into_iter().map(Into::into).collect()));
    }
    died
}
