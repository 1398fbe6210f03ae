//! `tardy target collect`: fetches the rest of a run that continued without its connection.

use crate::archives;
use crate::exit::{Exit, UsageError};
use crate::measuring::arguments::Showing;
use crate::measuring::ending::conclude;
use crate::measuring::machine::{AccessArguments, find};
use crate::measuring::signals::Signals;
use crate::options::quantity::positive_time_ns;
use crate::terminal::progress::{Progress, View};
use crate::verb::{Parent, Place, Verb};
use anyhow::anyhow;
use archive::directory::ArchiveDirectory;
use archive::manifest::RunState;
use clap::Args;
use machines::board::Purpose;
use machines::meter_places::MeterPlaces;
use runner::run::{RECEIVED_FILE, RunRequest, TimeLimits};
use std::path::PathBuf;
use std::time::Duration;

/// Fetch the results of a run whose connection to the board was lost
#[derive(Debug, Args)]
pub struct CollectArguments {
    /// The archive: a path, an id below runs/, or `latest`
    #[arg(value_name = "RUN")]
    run: PathBuf,
    #[command(flatten)]
    access: AccessArguments,
    /// Print the summary as one JSON document
    #[arg(long)]
    json: bool,
    /// Print every figure, worst wake-up and remark, not only the answer
    #[arg(long, conflicts_with_all = ["json", "quiet"])]
    more: bool,
    /// Print only the path of the archive
    #[arg(short, long, conflicts_with = "json")]
    quiet: bool,
    /// Give up if the meter sends nothing for TIME
    #[arg(long = "meter-timeout", value_name = "TIME", default_value = "30s", value_parser = positive_time_ns)]
    silence: u64,
}

impl Verb for CollectArguments {
    const NAME: &'static str = "collect";
    const PLACE: Place = Place::Below(Parent::Target);
    const EXAMPLES: &'static [&'static str] =
        &["tardy target collect latest", "tardy target collect runs/2026-11-22T07-08-08-board"];
    const NOTES: &'static str = "\
A run on a board continues when the connection is lost or tardy is killed, and the board keeps its results. This fetches \
what is missing, every byte once, follows the run to its end if it is still active, and leaves the board as it was.
Exit codes: as of `tardy run`.";
    const FORMER_NAMES: &'static [&'static str] = &["collect"];

    fn run(&self, _typed: Vec<String>) -> anyhow::Result<Exit> {
        run(self)
    }
}

fn run(arguments: &CollectArguments) -> anyhow::Result<Exit> {
    let run = archives::open(&arguments.run)?;
    let manifest = run.manifest.as_ref().ok_or_else(|| anyhow!("failed to fetch: the archive has no manifest"))?;
    let inside = ArchiveDirectory::open(&run.directory);
    if !inside.is_ok_and(|inside| inside.file(RECEIVED_FILE).is_ok()) {
        let why = match manifest.state {
            RunState::Running if run.goes_on => "it is still running, and another process writes it",
            RunState::Running => "the target kept no data from this run",
            _ => "the archive is complete",
        };
        let why = format!("{}: nothing left to fetch: {why}", run.directory.display());
        return Err(UsageError(why).into());
    }
    let settings = manifest.settings.clone().ok_or_else(|| anyhow!("failed to fetch: the archive has no settings"))?;
    let known = find(&manifest.target)?;
    let meter = MeterPlaces::of_process().find()?;
    let signals = Signals::watch()?;
    let access = arguments.access.options(Purpose::Collect { run: manifest.id.clone() });
    let mut target = known.open(&meter, access, signals.requests().clone())?;
    let mut progress = Progress::new(View::unless(arguments.quiet), &settings);
    let request = RunRequest {
        id: manifest.id.clone(),
        directory: run.directory.clone(),
        command: manifest.command.clone(),
        tool_version: manifest.tool_version.clone(),
        meter,
        limits: TimeLimits::of(&settings, Duration::from_nanos(arguments.silence)),
        settings,
    };
    let watch = &mut |event| progress.event(&event);
    let outcome = runner::run::collect(target.as_mut(), &request, signals.requests(), watch);
    let showing = Showing { json: arguments.json, quiet: arguments.quiet, more: arguments.more };
    conclude(outcome, &signals, &mut progress, showing)
}
