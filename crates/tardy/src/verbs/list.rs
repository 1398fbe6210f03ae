//! `tardy list`: the archives below a directory.

use crate::archives::{RUNS, below};
use crate::exit::Exit;
use crate::terminal::page::{Page, write_stdout};
use crate::terminal::table::{Align, Table};
use archive::manifest::RunState;
use archive::reader::Run;
use archive::summary::RunSummary;
use clap::Args;
use runner::run::RECEIVED_FILE;
use serde::Serialize;
use std::path::PathBuf;
use words::calendar::civil;
use words::figures::{duration, latency};

/// List the runs of a directory, oldest first
#[derive(Debug, Args)]
pub struct ListArguments {
    /// The directory with the archives
    #[arg(default_value = RUNS)]
    directory: PathBuf,
    /// Print one JSON document instead of text
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Serialize)]
struct Listed {
    id: String,
    archive: String,
    state: RunState,
    /// A process on this machine writes it; otherwise one whose state is `running` was cut off.
    goes_on: bool,
    /// `tardy collect` looks for the rest of it.
    collectable: bool,
    valid: bool,
    emulated: bool,
    virtual_time: bool,
    started_unix_ns: Option<i64>,
    measured_ns: Option<i64>,
    latency_ns_max: Option<i64>,
    spikes: usize,
    /// The tool that measured, when it was another one.
    imported: Option<String>,
}

pub fn run(arguments: &ListArguments) -> anyhow::Result<Exit> {
    let listed: Vec<Listed> =
        below(&arguments.directory).into_iter().filter_map(|path| Run::open(path).ok()).map(listed).collect();
    if arguments.json {
        let document = serde_json::json!({ "runs": listed });
        write_stdout(format!("{document}\n").as_bytes())?;
        return Ok(Exit::Measured);
    }
    let mut page = Page::for_stdout();
    if listed.is_empty() {
        page.line(&format!("no runs below {}; `tardy run` makes one", arguments.directory.display()));
        page.print()?;
        return Ok(Exit::Measured);
    }
    let mut table = Table::new(&[Align::Left, Align::Left, Align::Right, Align::Right, Align::Right, Align::Left]);
    table.row(["id", "when (UTC)", "measured", "max", "spikes", "state"]);
    for run in &listed {
        table.row([
            run.id.clone(),
            run.started_unix_ns.map_or("-".into(), when),
            run.measured_ns.map_or("-".into(), duration),
            run.latency_ns_max.map_or("-".into(), latency),
            run.spikes.to_string(),
            state_words(run),
        ]);
    }
    let lines = table.lines();
    page.heading(&lines[0]);
    lines[1..].iter().for_each(|line| page.line(line));
    page.print()?;
    Ok(Exit::Measured)
}

fn listed(run: Run) -> Listed {
    let summary = RunSummary::of(&run, &[]);
    Listed {
        id: summary.id,
        archive: summary.archive,
        state: summary.state,
        goes_on: summary.goes_on,
        collectable: !summary.goes_on && run.directory.join(RECEIVED_FILE).is_file(),
        valid: summary.valid,
        emulated: summary.emulated,
        virtual_time: summary.virtual_time,
        started_unix_ns: summary.started_unix_ns,
        measured_ns: summary.measured_ns,
        latency_ns_max: summary.all_cpus.max,
        spikes: run.spikes.len(),
        imported: summary.imported.map(|imported| imported.tool),
    }
}

fn when(unix_ns: i64) -> String {
    let (day, time) = civil(u64::try_from(unix_ns / 1_000_000_000).unwrap_or(0));
    format!("{day} {time}")
}

fn state_words(run: &Listed) -> String {
    let words = match (run.state, run.valid) {
        (RunState::Running, _) if run.goes_on => "running",
        (RunState::Running, _) => "cut off",
        (RunState::Failed, _) => "failed",
        (_, false) => "invalid",
        (RunState::Complete, true) => "complete",
        (RunState::Interrupted, true) => "stopped early",
    };
    let words = match (run.virtual_time, run.emulated) {
        (true, _) => format!("{words}, virtual time"),
        (false, true) => format!("{words}, emulated"),
        (false, false) => words.to_owned(),
    };
    let words = if run.collectable { format!("{words}, to be collected") } else { words };
    match &run.imported {
        Some(tool) if run.valid => format!("imported from {tool}"),
        Some(tool) => format!("{words}, imported from {tool}"),
        None => words,
    }
}
