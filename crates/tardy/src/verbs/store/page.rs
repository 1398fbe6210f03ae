//! The results of `tardy lab store` as text.

use crate::terminal::page::Page;
use crate::terminal::table::{Align, Table};
use std::collections::BTreeMap;
use store::queries::board_state::Differs;
use store::queries::fleet::{Fleet, FleetRow};
use store::{Ingested, KeptBecause, LeftOut, Outcome, Prunable};
use words::calendar::utc;
use words::culprits::named;
use words::figures::{count, counted, latency};
use words::printable::printable;

pub fn ingested(run: &Ingested) -> String {
    let outcome = match run.outcome {
        Outcome::Added => "added",
        Outcome::Known => "known",
        Outcome::Replaced => "replaced",
    };
    format!(
        "{}  {outcome}  {} of {}  in {}",
        run.digest,
        printable(&run.id),
        printable(&run.board),
        printable(&run.location)
    )
}

pub fn left_out(archives: &[LeftOut], page: &mut Page) {
    for left_out in archives {
        page.line(&printable(&format!("{} left out: {}", left_out.archive, left_out.because)));
    }
}

/// `index`: the options that name the index, each after a space.
pub fn fleet(fleet: &Fleet, index: &str, page: &mut Page) {
    if fleet.rows.is_empty() {
        page.line(&format!(
            "no runs; `tardy lab store ingest RUN{index}` adds one, `tardy lab store rebuild{index}` adds every run of the directory"
        ));
        return;
    }
    let [left, right] = [Align::Left, Align::Right];
    let mut table = Table::new(&[left, left, left, left, left, left, right, right, left, left]);
    table.row([
        "board",
        "load",
        "method",
        "state",
        "kernel",
        "preemption",
        "worst case",
        "samples",
        "last run",
        "reason",
    ]);
    fleet.rows.iter().for_each(|row| table.row(cells(row)));
    page.records(&table);
    if fleet.cut {
        page.line("There are more rows than these.");
    }
}

fn cells(row: &FleetRow) -> [String; 10] {
    let newest = &row.newest;
    [
        newest.board.clone(),
        newest.load.clone(),
        newest.method.clone(),
        row.standing.word().into(),
        newest.kernel.clone(),
        newest.preemption.clone(),
        row.coverage.latency_max_ns.map_or("-".into(), latency),
        count(row.coverage.samples),
        utc(newest.started_unix_ns),
        reason_of(row),
    ]
}

/// Where the load went from good to bad, and why an undecided one is.
fn reason_of(row: &FleetRow) -> String {
    let Some(bad) = &row.state.first_bad else {
        return row.standing.undecided_because(row.newest.verdict, row.newest.limit_ns).unwrap_or("-").into();
    };
    let good = row.state.last_good.as_ref().map_or("never good".into(), |good| format!("last good {}", good.kernel));
    let why = bad.worst_cause.as_ref().map_or(String::new(), |cause| format!(", {}", named(cause)));
    let differs = row
        .state
        .last_good
        .as_ref()
        .map_or(String::new(), |good| format!(" ({})", Differs::between(good, bad).words()));
    format!("{good}, first bad {}{differs}{why}", bad.kernel)
}

pub fn prunable(runs: &[Prunable], kept: &BTreeMap<KeptBecause, u64>, page: &mut Page) {
    for run in runs {
        page.line(&printable(&format!("{}  {}  {} of {}", run.digest, utc(run.started_unix_ns), run.id, run.board)));
    }
    page.line(&format!("{} whose raw traces nothing needs.", counted(runs.len() as u64, "run")));
    for (because, runs) in kept {
        page.line(&format!("{} kept: {}.", counted(*runs, "run"), reason(*because)));
    }
}

fn reason(because: KeptBecause) -> &'static str {
    match because {
        KeptBecause::Recent => "recent",
        KeptBecause::Pinned => "pinned or cited",
        KeptBecause::Failure => "failed, or not valid",
        KeptBecause::NewMaximum => "a new maximum of its kernel line",
        KeptBecause::ChangePoint => "beside a change",
    }
}
