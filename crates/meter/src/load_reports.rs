//! What the host is sent about loads: how they do, and once for each that does not work that the run is not what was asked for.

use crate::link::Link;
use archive::message::{Message, Severity};
use load::Report;
use std::collections::BTreeSet;
use std::io::Write;

/// Sends reports. `reported` remembers the names of the loads whose failure the host knows.
pub fn send<W: Write>(reports: Vec<Report>, reported: &mut BTreeSet<String>, link: &mut Link<W>) {
    for load in reports.iter().filter_map(Report::problem) {
        if reported.insert(load.name.clone()) {
            link.problem(Severity::Invalid, &load);
        }
    }
    if !reports.is_empty() {
        link.send(&Message::Loads(reports.into_iter().map(Into::into).collect()));
    }
}
