//! What the host hears of loads: how they do, and once for each that does not work that the run is not what was asked for.

use crate::link::Link;
use archive::message::{LoadReport, Message, Severity};
use std::collections::BTreeSet;
use std::io::Write;

/// Sends reports. `complained` remembers whom the host has heard about.
pub fn send<W: Write>(reports: Vec<LoadReport>, complained: &mut BTreeSet<String>, link: &mut Link<W>) {
    for report in reports.iter().filter(|report| !report.alive) {
        if complained.insert(report.name.clone()) {
            let detail = if report.detail.is_empty() { String::new() } else { format!(" ({})", report.detail) };
            link.problem(
                Severity::Invalid,
                format!("the load {} stopped working during the run{detail}", report.name),
                "run it alone with `tardy-meter load` to see why",
            );
        }
    }
    if !reports.is_empty() {
        link.send(&Message::Loads(reports));
    }
}
