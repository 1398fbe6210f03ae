//! The queue: workers with their last report, what runs, what waits, what ended; and the buttons that queue and cancel.

use super::amounts::ago;
use super::as_html;
use super::command::command_of_index;
use super::layout::{Page, Refresh};
use super::links::{board_address, cancel_address, live_address, run_address};
use crate::api::jobs::{backfilled, cancelled};
use crate::changes::Found;
use crate::guard::Identity;
use crate::problem::Refusal;
use crate::site::Site;
use axum::Router;
use axum::extract::{Extension, Path, State};
use axum::response::{Redirect, Response};
use axum::routing::{get, post};
use maud::{Markup, html};
use std::collections::BTreeMap;
use std::sync::Arc;
use store::Standing;
use store::queue::{Job, JobRun, JobState, Trigger, WorkerRow, job_directory};
use words::calendar::utc;
use words::figures::{counted, duration, set_duration};

/// Jobs on the page; older ones are in the API.
const JOBS_SHOWN: i64 = 200;
/// A worker reports every few seconds while it looks for a job, and three times a lease while it measures.
const SILENT_NS: i64 = 600_000_000_000;

pub fn router() -> Router<Arc<Site>> {
    Router::new()
        .route("/queue", get(show))
        .route("/queue/{job}/cancel", post(cancel))
        .route("/backfill/{change}", post(backfill))
}

/// Number of kernels that a trigger of the board can measure between the two runs of each change, where there are any.
pub async fn between(site: &Site, board: &str, found: &[Found]) -> Result<BTreeMap<String, usize>, Refusal> {
    let triggers = site.store().triggers().await.map_err(Refusal::of_store)?;
    let mut between = BTreeMap::new();
    for trigger in triggers.iter().filter(|trigger| trigger.can_backfill(board)) {
        for change in found.iter().map(|found| &found.change.change) {
            let suspects = site.store().suspects_of_change(change, &trigger.kernels).await;
            let kernels = suspects.map_err(Refusal::of_store)?.map_or(0, |suspects| suspects.kernels.len());
            if kernels > 0 {
                between.entry(change.clone()).or_insert(kernels);
            }
        }
    }
    Ok(between)
}

async fn backfill(
    State(site): State<Arc<Site>>,
    Extension(identity): Extension<Identity>,
    Path(change): Path<String>,
) -> Result<Redirect, Refusal> {
    backfilled(&site, &identity, &change).await?;
    Ok(Redirect::to("/queue"))
}

async fn cancel(
    State(site): State<Arc<Site>>,
    Extension(identity): Extension<Identity>,
    Path(job): Path<String>,
) -> Result<Redirect, Refusal> {
    cancelled(&site, &identity, &job).await?;
    Ok(Redirect::to("/queue"))
}

async fn show(State(site): State<Arc<Site>>, Extension(identity): Extension<Identity>) -> Result<Response, Refusal> {
    let store = site.store();
    let now = store.now_unix_ns().await.map_err(Refusal::of_store)?;
    let jobs = store.jobs(JOBS_SHOWN).await.map_err(Refusal::of_store)?;
    let view = View {
        jobs: &jobs,
        runs: &store.runs_of_jobs(JOBS_SHOWN).await.map_err(Refusal::of_store)?,
        live: &live(&site, &jobs),
        workers: &store.workers().await.map_err(Refusal::of_store)?,
        triggers: &store.triggers().await.map_err(Refusal::of_store)?,
        may_run: identity.may_run(),
        now_unix_ns: now,
        index: &site.lab.index.options(),
    };
    let page = Page { title: "Queue", here: "/queue", identity: &identity, refresh: Refresh::Never };
    Ok(as_html(&page.around(view.content())))
}

/// The run in progress of each running job whose archive is in this lab's directory.
fn live(site: &Site, jobs: &[Job]) -> BTreeMap<String, String> {
    let running = jobs.iter().filter(|job| job.state == JobState::Running);
    let named = |job: &Job| {
        let name = site.running_runs().name_below(&job_directory(site.directory(), &job.job))?;
        Some((job.job.clone(), name))
    };
    running.filter_map(named).collect()
}

struct View<'a> {
    jobs: &'a [Job],
    runs: &'a BTreeMap<String, Vec<JobRun>>,
    /// Names of runs in progress, by job.
    live: &'a BTreeMap<String, String>,
    workers: &'a [WorkerRow],
    triggers: &'a [Trigger],
    may_run: bool,
    now_unix_ns: i64,
    /// Options of a command line that name the index.
    index: &'a str,
}

impl View<'_> {
    fn content(&self) -> Markup {
        let of = |state: JobState| self.jobs.iter().filter(|job| job.state == state).count() as u64;
        html! {
            h1 { "Queue" }
            p.lead { (counted(of(JobState::Running), "job")) " running, " (of(JobState::Queued)) " waiting" }
            (self.workers())
            (self.jobs())
            (self.triggers())
        }
    }

    fn workers(&self) -> Markup {
        html! {
            section aria-labelledby="workers-title" {
                h2 #workers-title { "Workers" }
                @if self.workers.is_empty() {
                    p.empty { "No worker has reported. On a host that reaches the board:" }
                    (command_of_index("tardy lab worker --board BOARD", self.index))
                } @else {
                    div.scroll {
                        table.figures.cards {
                            caption.unseen { "Workers" }
                            thead { tr { th.text scope="col" { "Worker" } th.text scope="col" { "Boards" } th.text scope="col" { "Last report" } th.text scope="col" { "Since" } th.text scope="col" { "Version" } } }
                            tbody { @for worker in self.workers { (self.worker(worker)) } }
                        }
                    }
                }
            }
        }
    }

    fn worker(&self, worker: &WorkerRow) -> Markup {
        let silent = self.now_unix_ns.saturating_sub(worker.heartbeat_unix_ns) > SILENT_NS;
        html! {
            tr {
                th.text scope="row" { bdi { (worker.worker) } }
                td.text data-name="Boards" { @for (at, board) in worker.boards.iter().enumerate() { @if at > 0 { ", " } bdi { (board) } } }
                td.text data-name="Last report" { (ago(worker.heartbeat_unix_ns, self.now_unix_ns)) @if silent { " " span.mark { "silent" } } }
                td.text data-name="Since" { (utc(worker.started_unix_ns)) }
                td.text data-name="Version" { bdi { (worker.version) } }
            }
        }
    }

    fn jobs(&self) -> Markup {
        html! {
            section aria-labelledby="jobs-title" {
                h2 #jobs-title { "Jobs" }
                @if self.jobs.is_empty() {
                    p.empty { "No job yet. A plan for a board:" }
                    (command_of_index("tardy lab queue add plans/smoke.toml --board BOARD", self.index))
                } @else {
                    @if self.jobs.len() as i64 == JOBS_SHOWN { p.note { "The newest " (JOBS_SHOWN) "." } }
                    div.scroll {
                        table.figures.cards.jobs {
                            caption.unseen { "Jobs, the newest first" }
                            thead {
                                tr {
                                    th.text scope="col" { "Plan" }
                                    th.text scope="col" { "Board" }
                                    th.text scope="col" { "State" }
                                    th.text scope="col" { "Kernel" }
                                    th.text scope="col" { "Queued" }
                                    th.text scope="col" { "By" }
                                    th scope="col" { "Tries" }
                                    th.text scope="col" { "Worker" }
                                }
                            }
                            tbody { @for job in self.jobs { (self.job(job)) } }
                        }
                    }
                }
            }
        }
    }

    fn job(&self, job: &Job) -> Markup {
        html! {
            tr #{ "job-" (job.job) } {
                th.text scope="row" { bdi { (job.plan_name) } }
                td.text data-name="Board" { a href=(board_address(&job.board)) { bdi { (job.board) } } }
                td.text data-name="State" { (self.state(job)) }
                td.text data-name="Kernel" { @if let Some(kernel) = &job.kernel { bdi { (kernel) } } @else { span.beside { "the board’s" } } }
                td.text data-name="Queued" { (ago(job.queued_unix_ns, self.now_unix_ns)) }
                td.text data-name="By" { bdi { (job.because) } }
                td data-name="Tries" { (job.attempts) " of " (job.attempts_max) }
                td.text data-name="Worker" { @if let Some(worker) = &job.worker { bdi { (worker) } } @else { span.beside { "–" } } }
            }
        }
    }

    /// The state, with what a reader wants to know or do next.
    fn state(&self, job: &Job) -> Markup {
        // A job that is done may have shown nothing, or a board that is bad: its runs have the colour.
        let key = if job.state == JobState::Failed { Standing::Bad } else { Standing::Undecided }.word();
        html! {
            span.state data-state=(key) { (job.state.word()) }
            @match job.state {
                JobState::Running => {
                    @if let Some(run) = self.live.get(&job.job) { " " a href=(live_address(run)) { "live" } }
                    span.beside { (self.lease(job)) }
                },
                JobState::Queued if self.may_run => form.decision method="post" action=(cancel_address(&job.job)) {
                    button aria-label={ "Cancel " (job.plan_name) " on " (job.board) } { "Cancel" }
                },
                _ if !job.message.is_empty() => span.beside { bdi { (job.message) } },
                _ => {}
            }
            @for run in self.runs.get(&job.job).into_iter().flatten() { " " (run_chip(run)) }
            @if job.state == JobState::Queued && !self.is_reached(&job.board) { span.mark { "no worker reaches it" } }
        }
    }

    /// A worker that is not silent reaches the board.
    fn is_reached(&self, board: &String) -> bool {
        let reports = |worker: &&WorkerRow| self.now_unix_ns.saturating_sub(worker.heartbeat_unix_ns) <= SILENT_NS;
        self.workers.iter().filter(reports).any(|worker| worker.boards.contains(board))
    }

    fn lease(&self, job: &Job) -> String {
        match job.lease_until_unix_ns {
            Some(until) if !job.is_overdue(self.now_unix_ns) => {
                format!("lease ends in {}", duration(until - self.now_unix_ns))
            }
            _ => "its lease has ended".into(),
        }
    }

    fn triggers(&self) -> Markup {
        html! {
            section aria-labelledby="triggers-title" {
                h2 #triggers-title { "Triggers" }
                @if self.triggers.is_empty() {
                    p.empty { "No triggers yet. A plan for every night:" }
                    (command_of_index("tardy lab queue trigger add nightly plans/smoke.toml --board BOARD --every 24h", self.index))
                } @else {
                    div.scroll {
                        table.figures.cards {
                            caption.unseen { "Triggers" }
                            thead { tr { th.text scope="col" { "Trigger" } th.text scope="col" { "Boards" } th.text scope="col" { "When" } th scope="col" { "Kernels" } th.text scope="col" { "Set up by" } } }
                            tbody { @for trigger in self.triggers { (trigger_row(trigger)) } }
                        }
                    }
                }
            }
        }
    }
}

/// A run with its state, as a link to it.
fn run_chip(run: &JobRun) -> Markup {
    html! {
        a.state data-state=(run.standing.word()) href=(run_address(&run.digest)) title=[run.because] { "run: " (run.standing.word()) }
    }
}

fn trigger_row(trigger: &Trigger) -> Markup {
    html! {
        tr {
            th.text scope="row" { bdi { (trigger.name) } }
            td.text data-name="Boards" { @for (at, board) in trigger.boards.iter().enumerate() { @if at > 0 { ", " } bdi { (board) } } }
            td.text data-name="When" {
                @if let Some((every, next)) = trigger.every_ns.zip(trigger.next_unix_ns) {
                    "every " (set_duration(every)) ", next " (utc(next))
                }
                @if trigger.every_ns.is_some() && trigger.webhook { "; " }
                @if trigger.webhook { "webhook" @if let Some(branch) = &trigger.branch { " for the branch " bdi { (branch) } } }
                @if trigger.every_ns.is_none() && !trigger.webhook { span.beside { "backfill alone" } }
            }
            td data-name="Kernels" { (trigger.kernels.len()) }
            td.text data-name="Set up by" { bdi { (trigger.created_by) } }
        }
    }
}
