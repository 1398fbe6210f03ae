//! Chains of threads in a recording or in the snapshots of a run: reads declaration and events, and shows the accounts.

mod answer;
mod proposals;

use crate::exit::{Exit, UsageError};
use crate::recording::{self, Recorded};
use crate::terminal::json;
use crate::terminal::page::Page;
use answer::lay_out;
use archive::chain::ChainAccount;
use archive::reader::Run;
use chains::declaration::ChainFile;
use chains::event_name::EventName;
use chains::recorded::EVENTS_MAX;
use proposals::lay_out as lay_out_proposals;
use serde::Serialize;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use words::printable::printable;

/// Options of the output.
#[derive(Debug, Clone, Copy)]
pub struct Shown<'a> {
    pub json: bool,
    /// The critical path of the worst instance as well.
    pub more: bool,
    /// Recording or archive and file of chains, as the next command names them.
    pub named: (&'a Path, &'a Path),
}

/// The document of `--json`.
#[derive(Serialize)]
struct Document {
    chains: Vec<ChainAccount>,
}

/// Reads a file of chains.
///
/// # Errors
/// A file that cannot be read, or is wrong.
pub fn declared(path: &Path) -> Result<ChainFile, UsageError> {
    let failed = |why: String| UsageError(format!("failed to read the chains of {}: {why}", path.display()));
    let text = fs::read_to_string(path).map_err(|error| failed(error.to_string()))?;
    ChainFile::parse(&text).map_err(|problem| failed(problem.to_string()))
}

/// The events of a recording of another tool. `declared`: the events that begin or end chains.
///
/// # Errors
/// A recording that cannot be read, or has no events.
pub fn of_recording(
    recorded: &Recorded<'_>,
    declared: &BTreeSet<EventName>,
) -> anyhow::Result<Vec<chains::recorded::Recorded>> {
    recording::with_events(recorded, |trace| vec![chains::recorded::Recorded::of(trace, declared)])
}

/// The events of the snapshots of a run. One that cannot be read is a limit of the answer.
///
/// # Errors
/// A run without snapshots.
pub fn of_run(run: &Run, declared: &BTreeSet<EventName>) -> Result<Vec<chains::recorded::Recorded>, UsageError> {
    let recordings = account::chains::recorded(run, declared, EVENTS_MAX);
    if recordings.is_empty() {
        let text = "the run has no snapshots to look for chains in; record a whole trace and name its file";
        return Err(UsageError(text.into()));
    }
    Ok(recordings)
}

/// Accounts for each chain and shows the accounts.
///
/// # Errors
/// If standard output cannot be written.
pub fn show(recordings: &[chains::recorded::Recorded], file: &ChainFile, shown: Shown<'_>) -> anyhow::Result<Exit> {
    let accounts =
        file.chain.iter().map(|chain| chains::account(recordings, chain, account::chains::LEDGERS)).collect();
    let document = Document { chains: accounts };
    if shown.json {
        json::print(&document)?;
        return Ok(Exit::Measured);
    }
    let mut page = Page::for_stdout();
    lay_out(&document.chains, shown, &mut page);
    page.print()?;
    Ok(Exit::Measured)
}

/// Shows the chains in the snapshots of a run that has just ended, below its summary.
///
/// # Errors
/// If the archive cannot be read, or standard output cannot be written.
pub fn show_snapshots(archive: &Path, file: &ChainFile, path: &Path) -> anyhow::Result<()> {
    let run = Run::open(archive)?;
    let mut page = Page::for_stdout();
    page.line("");
    page.print()?;
    match of_run(&run, &file.events()) {
        Ok(recordings) => {
            show(&recordings, file, Shown { json: false, more: false, named: (archive, path) })?;
        }
        Err(error) => complain!("tardy: {}", printable(&error.to_string())),
    }
    Ok(())
}

/// Proposes chains, as a file of chains or as JSON.
///
/// # Errors
/// If standard output cannot be written.
pub fn propose(recordings: &[chains::recorded::Recorded], as_json: bool) -> anyhow::Result<Exit> {
    let proposed = chains::discover::discover(recordings);
    if as_json {
        json::print(&proposed)?;
    } else if proposed.is_empty() {
        complain!(
            "tardy: {}",
            printable("no thread was woken ten times by a timer, an interrupt or packets; record a longer time")
        );
    } else {
        let mut page = Page::for_stdout();
        lay_out_proposals(&proposed, &mut page);
        page.print()?;
    }
    Ok(if proposed.is_empty() { Exit::NotEnoughData } else { Exit::Measured })
}
