//! `tardy lab worker`: runs the queued plans of the boards that this host reaches.

mod job;

use crate::exit::{Exit, UsageError};
use crate::lab::arguments::StoreOption;
use crate::lab::finish;
use crate::measuring::signals::Signals;
use crate::options::quantity::time_ns;
use crate::verb::{Parent, Place, Verb};
use clap::Args;
use job::{NO_ANSWER, Working, run_job};
use std::collections::BTreeMap;
use std::time::Duration;
use store::Store;
use words::printable::printable;

/// Interval between looks at the queue.
const LOOK_AGAIN: Duration = Duration::from_secs(2);

/// Run the queued plans of boards that this host reaches
#[derive(Debug, Args)]
pub struct WorkerArguments {
    /// Board whose jobs to run, or NAME=TARGET; may be repeated
    #[arg(long = "board", value_name = "BOARD", required = true)]
    boards: Vec<String>,
    /// Name of this worker [default: host name and process id]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// A job is queued again when its worker has not reported for this long
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = time_ns)]
    lease: u64,
    /// End when no job is left
    #[arg(long)]
    once: bool,
    #[command(flatten)]
    store: StoreOption,
}

impl Verb for WorkerArguments {
    const NAME: &'static str = "worker";
    const PLACE: Place = Place::Below(Parent::Lab);
    const EXAMPLES: &'static [&'static str] = &[
        "tardy lab worker --board pi --board amd",
        "tardy lab worker --board bench=local --once",
        "tardy lab worker --store postgres://lab@db/tardy --archives /srv/archives --board pi",
    ];
    const NOTES: &'static str = "\
A board is a target of `tardy target add` with that name; NAME=TARGET runs its plans on another target. Each plan runs with `tardy run`, \
its archives are added to the index. A worker that dies loses nothing: when its lease ends, the job is queued again, and finished steps of its plan \
are kept. Ctrl-C ends the current run and the worker.
Exit codes: 0 stopped, or nothing left with --once; 2 wrong usage, 3 the index failed at the start.";
    const FORMER_NAMES: &'static [&'static str] = &["worker"];

    fn run(&self, _typed: Vec<String>) -> anyhow::Result<Exit> {
        run(self)
    }
}

fn run(arguments: &WorkerArguments) -> anyhow::Result<Exit> {
    if arguments.lease < 1_000_000_000 {
        return Err(UsageError("--lease is at least 1s".into()).into());
    }
    let targets = targets(&arguments.boards)?;
    let name = arguments
        .name
        .clone()
        .unwrap_or_else(|| format!("{}-{}", rustix::system::uname().nodename().to_string_lossy(), std::process::id()));
    finish(async move {
        // Until a store is open a signal ends the process: a database may not answer.
        let store = arguments.store.open().await?;
        let signals = Signals::watch()?;
        let working = Working { store, targets, name, lease: Duration::from_nanos(arguments.lease), signals };
        complain!("tardy: worker {} looks for jobs; Ctrl-C ends it", printable(&working.name));
        work(&working, arguments.once).await;
        match working.unless_stopped(ended(&working)).await {
            Some(Ok(())) => {}
            Some(Err(error)) => complain!("tardy: {}", printable(&error.to_string())),
            None => complain!("tardy: {NO_ANSWER}"),
        }
        Ok(Exit::Measured)
    })
}

/// Target by board.
fn targets(boards: &[String]) -> Result<BTreeMap<String, String>, UsageError> {
    let mut targets = BTreeMap::new();
    for board in boards {
        let (name, target) = board.split_once('=').unwrap_or((board, board));
        if name.is_empty() || target.is_empty() {
            return Err(UsageError(format!("--board {board} has no name; write NAME or NAME=TARGET")));
        }
        targets.insert(name.to_owned(), target.to_owned());
    }
    Ok(targets)
}

/// Runs jobs until a signal, or with `once` until none is left. A database that is away is waited for.
async fn work(working: &Working, once: bool) {
    let boards: Vec<String> = working.targets.keys().cloned().collect();
    while !working.stopped() {
        let Some(next) = working.unless_stopped(next(&working.store, working, &boards)).await else { return };
        match next {
            Ok(Some(claim)) => run_job(working, claim).await,
            Ok(None) if once => return,
            Ok(None) => working.pause(LOOK_AGAIN).await,
            Err(error) => {
                complain!("tardy: {}", printable(&error.to_string()));
                working.pause(LOOK_AGAIN).await;
            }
        }
    }
}

async fn ended(working: &Working) -> Result<(), store::StoreError> {
    working.store.worker_ended(&working.name, working.store.now_unix_ns().await?).await
}

async fn next(
    store: &Store,
    working: &Working,
    boards: &[String],
) -> Result<Option<store::queue::Claim>, store::StoreError> {
    let now = store.now_unix_ns().await?;
    store.heartbeat(&working.name, boards, env!("CARGO_PKG_VERSION"), now).await?;
    store.queue_due(now).await?;
    store.claim(&working.name, boards, working.lease, now).await
}
