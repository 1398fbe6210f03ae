//! `tardy lab queue`: plans for the workers of a lab to run.

mod backfill;
mod triggers;

use crate::exit::{Exit, UsageError};
use crate::lab::arguments::IndexArguments;
use crate::lab::finish;
use crate::lab::user::this_user;
use crate::options::quantity::whole;
use crate::plans::checked::{CheckedPlan, Overrides, PlanHost};
use crate::plans::length::warn;
use crate::plans::{described, text_of};
use crate::terminal::json;
use crate::terminal::page::Page;
use crate::terminal::table::{Align, Table};
use crate::verb::{Parent, Place, Verb};
use clap::{Args, Subcommand};
use runner::plan::Plan;
use std::path::{Path, PathBuf};
use store::Store;
use store::queue::{Job, JobRequest};
use words::calendar::utc;
use words::printable::printable;

/// Version of the documents that `tardy lab queue --json` prints.
const QUEUE_VERSION: u32 = 1;
const SHOWN: i64 = 100;

/// Queue plans for workers to run on boards
#[derive(Debug, Args)]
pub struct QueueArguments {
    #[command(subcommand)]
    verb: QueueVerb,
}

#[derive(Debug, Subcommand)]
enum QueueVerb {
    /// Queue a plan for boards
    Add(AddArguments),
    /// List the newest jobs
    List(IndexArguments),
    /// Cancel a job that does not run yet
    Cancel(CancelArguments),
    /// Queue a plan for each kernel between the last good and the first bad one
    Backfill(backfill::BackfillArguments),
    /// Set up plans that are queued by themselves: at an interval, by a webhook, for new kernels
    Trigger(triggers::TriggerArguments),
}

/// Letters in the name of a kernel.
const KERNEL_HINT: &str = "it has up to 128 letters, digits and ._+~-";

#[derive(Debug, Args)]
struct PlanArguments {
    /// A plan file
    plan: PathBuf,
    #[command(flatten)]
    options: PlanOptions,
}

#[derive(Debug, Args)]
struct PlanOptions {
    /// Jobs with a higher one run first
    #[arg(long, value_name = "N", default_value_t = 0, allow_hyphen_values = true, value_parser = integer)]
    priority: i64,
    /// Start a job at most N times
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = whole::<i64>(1..=100))]
    attempts: i64,
}

#[derive(Debug, Args)]
struct AddArguments {
    #[command(flatten)]
    plan: PlanArguments,
    /// Board to run it on; may be repeated
    #[arg(long = "board", value_name = "BOARD", required = true)]
    boards: Vec<String>,
    #[command(flatten)]
    common: IndexArguments,
}

#[derive(Debug, Args)]
struct CancelArguments {
    /// Name of the job
    job: String,
    #[command(flatten)]
    common: IndexArguments,
}

fn integer(text: &str) -> Result<i64, UsageError> {
    text.parse().map_err(|_| UsageError(format!("`{text}` is not a whole number")))
}

impl Verb for QueueArguments {
    const NAME: &'static str = "queue";
    const PLACE: Place = Place::Below(Parent::Lab);
    const EXAMPLES: &'static [&'static str] = &[
        "tardy lab queue add plans/smoke.toml --board pi",
        "tardy lab queue list",
        "tardy lab queue cancel JOB",
        "tardy lab queue trigger add nightly plans/smoke.toml --board pi --every 24h",
        "tardy lab queue trigger add kernels kernels.toml --board pi --webhook",
        "tardy lab queue trigger list",
        "tardy lab queue trigger remove nightly",
        "tardy lab queue backfill pi",
        "tardy lab worker --board pi",
    ];
    const NOTES: &'static str = "\
A plan may run commands on its board: who may queue plans may run programs there.
Exit codes: 0 done, 1 there was nothing to do, 2 wrong usage, 3 the index failed.";
    const FORMER_NAMES: &'static [&'static str] = &["queue"];

    fn run(&self, _typed: Vec<String>) -> anyhow::Result<Exit> {
        run(self)
    }
}

fn run(arguments: &QueueArguments) -> anyhow::Result<Exit> {
    match &arguments.verb {
        QueueVerb::Add(arguments) => finish(add(arguments)),
        QueueVerb::List(arguments) => finish(list(arguments)),
        QueueVerb::Cancel(arguments) => finish(cancel(arguments)),
        QueueVerb::Backfill(arguments) => finish(backfill::backfill(arguments)),
        QueueVerb::Trigger(arguments) => finish(triggers::run(arguments)),
    }
}

async fn add(arguments: &AddArguments) -> anyhow::Result<Exit> {
    let text = text_of(&arguments.plan.plan)?;
    check(&arguments.plan.plan, &text)?;
    let store = arguments.common.store.open().await?;
    let mut jobs = Vec::new();
    for board in &arguments.boards {
        if !store.knows_board(board).await? {
            let (board, index) = (printable(board), arguments.common.store.words());
            complain!(
                "tardy: no worker reaches {board} and the index has no run of it: the job waits until `tardy lab worker --board {board}{index}` runs"
            );
        }
        let request = request(&arguments.plan, board, text.clone());
        jobs.push(queue(&store, &request).await?);
    }
    show(&jobs, &arguments.common)
}

async fn list(arguments: &IndexArguments) -> anyhow::Result<Exit> {
    let store = arguments.store.open_existing().await?;
    let now_unix_ns = store.now_unix_ns().await?;
    let mut jobs = store.jobs(SHOWN).await?;
    for job in jobs.iter_mut().filter(|job| job.is_overdue(now_unix_ns)) {
        job.message = "its lease has ended".into();
    }
    show(&jobs, arguments)
}

async fn cancel(arguments: &CancelArguments) -> anyhow::Result<Exit> {
    let store = arguments.common.store.open_existing().await?;
    let cancelled = store.cancel(&arguments.job, &this_user(), store.now_unix_ns().await?).await?;
    let Some(job) = store.job(&arguments.job).await? else {
        let index = arguments.common.store.words();
        let text = format!("no job {}; `tardy lab queue list{index}` lists the newest ones", arguments.job);
        return Err(UsageError(text).into());
    };
    show(&[job], &arguments.common)?;
    Ok(if cancelled { Exit::Measured } else { Exit::LimitExceeded })
}

fn request(plan: &PlanArguments, board: &str, text: String) -> JobRequest {
    JobRequest {
        board: board.into(),
        plan_name: Plan::name_of(&plan.plan),
        plan: text,
        kernel: None,
        because: "command line".into(),
        priority: plan.options.priority,
        attempts_max: plan.options.attempts,
    }
}

async fn queue(store: &Store, request: &JobRequest) -> anyhow::Result<Job> {
    Ok(store.queue(request, store.now_unix_ns().await?).await?)
}

/// A plan with a mistake is refused here, and not hours later on its board.
fn check(path: &Path, text: &str) -> anyhow::Result<()> {
    let problems = match CheckedPlan::read(&Plan::name_of(path), text, &Overrides::default(), PlanHost::Other) {
        Ok(plan) => {
            warn(&plan);
            return Ok(());
        }
        Err(problems) => problems,
    };
    problems.iter().for_each(|problem| complain!("{}", printable(&described(path, problem))));
    Err(UsageError(format!("{} cannot be run; `tardy help KEY` describes a key of a plan", path.display())).into())
}

fn show(jobs: &[Job], common: &IndexArguments) -> anyhow::Result<Exit> {
    if common.json {
        json::print(&serde_json::json!({ "queue_version": QUEUE_VERSION, "jobs": jobs }))?;
        return Ok(Exit::Measured);
    }
    let mut table = Table::new(&[Align::Left; 8]);
    table.row(["job", "state", "board", "plan", "kernel", "tries", "queued", "last"]);
    for job in jobs {
        let tries = format!("{}/{}", job.attempts, job.attempts_max);
        let kernel = job.kernel.clone().unwrap_or("-".into());
        let queued = utc(job.queued_unix_ns);
        let (board, plan, last) = (job.board.clone(), job.plan_name.clone(), job.message.clone());
        table.row([job.job.clone(), job.state.word().into(), board, plan, kernel, tries, queued, last]);
    }
    let mut page = Page::for_stdout();
    match jobs {
        [] => {
            page.line(&format!("no jobs; `tardy lab queue add PLAN --board BOARD{}` queues one", common.store.words()))
        }
        _ => page.records(&table),
    }
    page.print()?;
    Ok(Exit::Measured)
}
