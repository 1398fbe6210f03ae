//! What the host is sent about loads: how they do, and once for each that does not work that the run is not what was asked for.

use crate::link::Link;
use archive::message::{LoadReport, Message, Severity};
use archive::problem::{Code, ProblemKind};
use std::collections::BTreeSet;
use std::io::Write;

/// What became of a load.
#[derive(Debug, thiserror::Error)]
pub enum LoadProblem {
    #[error("the load {name} stopped working during the run{detail}")]
    Stopped { name: String, detail: String },
}

problem_codes! { LoadProblem:
    Stopped => "meter.load-stopped", "A load died or made no progress, so the run is not what was asked for.",
        "run it alone with `tardy-meter load` to see why";
}

impl ProblemKind for LoadProblem {
    fn code(&self) -> Code {
        Code::new(self.definition().code)
    }

    fn fix(&self) -> String {
        self.definition().fix.to_owned()
    }
}

/// Sends reports. `reported` remembers the loads of which the host knows that they stopped.
pub fn send<W: Write>(reports: Vec<LoadReport>, reported: &mut BTreeSet<String>, link: &mut Link<W>) {
    for report in reports.iter().filter(|report| !report.alive) {
        if reported.insert(report.name.clone()) {
            let detail = if report.detail.is_empty() { String::new() } else { format!(" ({})", report.detail) };
            link.problem(Severity::Invalid, &LoadProblem::Stopped { name: report.name.clone(), detail });
        }
    }
    if !reports.is_empty() {
        link.send(&Message::Loads(reports));
    }
}
