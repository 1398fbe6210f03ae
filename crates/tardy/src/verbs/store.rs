//! `tardy lab store`: the index of a lab over its archives.

mod alerts;
mod changes;
mod doctor;
#[cfg(feature = "parquet")]
mod export;
mod page;
mod push;

use crate::archives::{all_below, find};
use crate::exit::{Exit, UsageError};
use crate::lab::arguments::IndexArguments;
use crate::lab::finish;
use crate::options::quantity::time_ns;
use crate::terminal::json;
use crate::terminal::page::Page;
use crate::verb::{Parent, Place, Verb};
use clap::{Args, Subcommand};
use serde::Serialize;
use std::path::PathBuf;
use store::{Ingested, LeftOut, Retention, Store};
use words::figures::counted;

/// Version of the documents that `tardy lab store --json` prints.
const STORE_VERSION: u32 = 1;

/// Index the archives of a lab, and remove traces that nothing needs
#[derive(Debug, Args)]
pub struct StoreArguments {
    #[command(subcommand)]
    verb: StoreVerb,
}

#[derive(Debug, Subcommand)]
enum StoreVerb {
    /// Add archives; adding one twice leaves it there once
    Ingest(IngestArguments),
    /// Read every archive again, and forget those that are gone
    Rebuild(IndexArguments),
    /// List boards with their newest run, verdict, worst case and coverage
    List(IndexArguments),
    /// Upload archives that a server, `tardy lab serve`, does not have yet
    Push(push::PushArguments),
    /// Remove raw traces that nothing needs; histograms, figures and verdicts stay
    Prune(PruneArguments),
    /// Write the runs, histograms, causes and changes of the index as Parquet
    #[cfg(feature = "parquet")]
    Export(export::ExportArguments),
    /// Check the index, its archives, the queue and the workers; change nothing
    Doctor(IndexArguments),
    /// Look for changes of figures, and report each once
    Changes(changes::ChangesArguments),
    /// List messages about changes; send one again that was given up
    Alerts(alerts::AlertsArguments),
    /// Record what a change is: known, fixed, noise, or new again
    Triage(changes::TriageArguments),
    /// Keep the raw traces of a run, with a reason
    Pin(PinArguments),
    /// Remove a reason for which raw traces of a run are kept
    Unpin(PinArguments),
}

#[derive(Debug, Args)]
struct IngestArguments {
    /// Archives, or directories with archives
    #[arg(value_name = "RUN", required = true)]
    runs: Vec<PathBuf>,
    #[command(flatten)]
    common: IndexArguments,
}

#[derive(Debug, Args)]
struct PruneArguments {
    /// Show what would go, and remove nothing
    #[arg(long)]
    dry_run: bool,
    /// Keep everything of runs that are younger
    #[arg(long, value_name = "TIME", default_value = "30d", value_parser = time_ns)]
    older_than: u64,
    #[command(flatten)]
    common: IndexArguments,
}

#[derive(Debug, Args)]
struct PinArguments {
    /// SHA-256 of the run's archive, as `tardy lab store ingest` prints it
    digest: String,
    /// An incident or a name
    #[arg(long)]
    reason: String,
    #[command(flatten)]
    common: IndexArguments,
}

#[derive(Debug, Serialize)]
struct IngestDocument {
    store_version: u32,
    runs: Vec<Ingested>,
    left_out: Vec<LeftOut>,
}

impl Verb for StoreArguments {
    const NAME: &'static str = "store";
    const PLACE: Place = Place::Below(Parent::Lab);
    const EXAMPLES: &'static [&'static str] = &[
        "tardy lab store ingest nightly/",
        "tardy lab store list",
        "tardy lab store rebuild --store postgres://lab@db/tardy --archives /srv/archives",
        "tardy lab store prune --dry-run --older-than 30d",
        "tardy lab store push http://localhost:8700 nightly/ --token-file lab.token",
        "tardy lab store doctor --store postgres://lab@db/tardy --artefacts s3://lab/archives",
        "tardy lab store export --parquet lab-2026-11",
        "tardy lab store changes --notify 'mail -s change lab@example.org'",
        "tardy lab store changes --alerts alerts.toml",
        "tardy lab store alerts",
        "tardy lab store triage CHANGE noise",
        "tardy lab store pin DIGEST --reason 'incident 7'",
        "tardy lab store unpin DIGEST --reason 'incident 7'",
    ];
    const NOTES: &'static str = "\
`rebuild` makes what the index says of runs again from the archives; queued plans, triage and the log are in the index alone.
A server behind a proxy with TLS has an https:// address. To an http:// one the token travels as it is: use a tunnel,
`ssh -N -L 8700:localhost:8700 HOST`.
Exit codes: 0 done, 1 some archives were left out, a message was not sent or given up, or the doctor found something, 2 wrong usage,
3 the index, the disk or the object store failed.";
    const FORMER_NAMES: &'static [&'static str] = &["store"];

    fn run(&self, _typed: Vec<String>) -> anyhow::Result<Exit> {
        run(self)
    }
}

fn run(arguments: &StoreArguments) -> anyhow::Result<Exit> {
    match &arguments.verb {
        StoreVerb::Ingest(arguments) => finish(ingest(arguments)),
        StoreVerb::Rebuild(arguments) => finish(rebuild(arguments)),
        StoreVerb::List(arguments) => finish(list(arguments)),
        StoreVerb::Push(arguments) => finish(push::push(arguments)),
        StoreVerb::Prune(arguments) => finish(prune(arguments)),
        #[cfg(feature = "parquet")]
        StoreVerb::Export(arguments) => finish(export::export(arguments)),
        StoreVerb::Doctor(arguments) => finish(doctor::doctor(arguments)),
        StoreVerb::Changes(arguments) => finish(changes::changes(arguments)),
        StoreVerb::Alerts(arguments) => finish(alerts::alerts(arguments)),
        StoreVerb::Triage(arguments) => finish(changes::triage(arguments)),
        StoreVerb::Pin(arguments) => finish(pin(arguments, true)),
        StoreVerb::Unpin(arguments) => finish(pin(arguments, false)),
    }
}

async fn ingest(arguments: &IngestArguments) -> anyhow::Result<Exit> {
    let store = arguments.common.store.open().await?;
    let mut document = IngestDocument { store_version: STORE_VERSION, runs: Vec::new(), left_out: Vec::new() };
    for name in &arguments.runs {
        let path = find(name)?;
        let below = all_below(&path);
        let archives = if below.is_empty() { vec![path] } else { below };
        for archive in archives {
            match store.ingest(&archive).await {
                Ok(ingested) => document.runs.push(ingested),
                Err(error) => document
                    .left_out
                    .push(LeftOut { archive: archive.display().to_string(), because: error.to_string() }),
            }
        }
    }
    let complete = document.left_out.is_empty();
    if arguments.common.json {
        json::print(&document)?;
    } else {
        let mut page = Page::for_stdout();
        document.runs.iter().for_each(|run| page.line(&page::ingested(run)));
        page::left_out(&document.left_out, &mut page);
        page.print()?;
    }
    Ok(if complete { Exit::Measured } else { Exit::LimitExceeded })
}

async fn rebuild(arguments: &IndexArguments) -> anyhow::Result<Exit> {
    let store = arguments.store.open().await?;
    let archives = all_below(store.archives());
    let rebuilt = store.rebuild(archives, &mut |_| {}).await?;
    if arguments.json {
        json::print(&serde_json::json!({
            "store_version": STORE_VERSION, "runs": rebuilt.runs, "removed": rebuilt.removed, "left_out": rebuilt.left_out,
        }))?;
    } else {
        let mut page = Page::for_stdout();
        page.line(&format!("{} indexed, {} removed.", counted(rebuilt.runs, "run"), rebuilt.removed));
        page::left_out(&rebuilt.left_out, &mut page);
        page.print()?;
    }
    Ok(if rebuilt.left_out.is_empty() { Exit::Measured } else { Exit::LimitExceeded })
}

async fn list(arguments: &IndexArguments) -> anyhow::Result<Exit> {
    let store = arguments.store.open_existing().await?;
    let fleet = store.fleet().await?;
    if arguments.json {
        json::print(&serde_json::json!({ "store_version": STORE_VERSION, "rows": fleet.rows, "cut": fleet.cut }))?;
    } else {
        let mut page = Page::for_stdout();
        page::fleet(&fleet, &arguments.store.words(), &mut page);
        page.print()?;
    }
    Ok(Exit::Measured)
}

async fn prune(arguments: &PruneArguments) -> anyhow::Result<Exit> {
    let store = arguments.common.store.open_existing().await?;
    let age_ns = i64::try_from(arguments.older_than).unwrap_or(i64::MAX);
    let everything_since_unix_ns = store.now_unix_ns().await?.saturating_sub(age_ns);
    let (runs, kept) = store.prunable(Retention { everything_since_unix_ns }).await?;
    let mut removed = Vec::new();
    if !arguments.dry_run {
        for run in &runs {
            if let Some(pruned) = store.prune(run).await? {
                removed.push((run, pruned));
            }
        }
    }
    let (files, bytes) = removed.iter().fold((0, 0), |sum, (_, pruned)| (sum.0 + pruned.files, sum.1 + pruned.bytes));
    if arguments.common.json {
        json::print(&serde_json::json!({
            "store_version": STORE_VERSION, "dry_run": arguments.dry_run, "runs": runs, "kept": kept,
            "removed_runs": removed.len(), "removed_files": files, "removed_bytes": bytes,
        }))?;
        return Ok(Exit::Measured);
    }
    let mut page = Page::for_stdout();
    page::prunable(&runs, &kept, &mut page);
    if arguments.dry_run {
        page.line("Nothing was removed; without --dry-run their raw traces are.");
    } else {
        let of = counted(removed.len() as u64, "run");
        page.line(&format!("Removed {} with {} MB, of {of}.", counted(files, "file"), bytes / 1_000_000));
    }
    page.print()?;
    Ok(Exit::Measured)
}

async fn pin(arguments: &PinArguments, keep: bool) -> anyhow::Result<Exit> {
    let store: Store = arguments.common.store.open_existing().await?;
    let (digest, reason) = (arguments.digest.as_str(), arguments.reason.as_str());
    let changed = if keep { store.pin(digest, reason).await? } else { store.unpin(digest, reason).await? };
    let Some(there) = changed else {
        let index = arguments.common.store.words();
        let text = format!("no run {digest} in the index; `tardy lab store list --json{index}` lists the newest ones");
        return Err(UsageError(text).into());
    };
    let pins = store.pins(digest).await?;
    if arguments.common.json {
        json::print(
            &serde_json::json!({ "store_version": STORE_VERSION, "digest": digest, "raw": there, "pins": pins }),
        )?;
    } else {
        let mut page = Page::for_stdout();
        let kept = if there { "Its raw traces are there" } else { "Its raw traces were removed before" };
        page.line(&format!("{kept}; {} on it.", counted(pins.len() as u64, "pin")));
        page.print()?;
    }
    Ok(Exit::Measured)
}
