//! The queue: what waits, what runs, who runs it; queueing, cancelling, and what lies around a change.

use crate::guard::Identity;
use crate::problem::{ProblemDocument, Refusal};
use crate::site::Site;
use axum::Json;
use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::extract::{Extension, Path, Query, State};
use axum::http::StatusCode;
use serde::Deserialize;
use std::sync::Arc;
use store::queue::{JOBS_MAX, Job, JobRequest, Trigger, WorkerRow};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::lab::parameters;

const JOBS_DEFAULT: i64 = 100;
const ATTEMPTS_DEFAULT: i64 = 3;
const ATTEMPTS_MAX: i64 = 100;
const BOARDS_MAX: usize = 1000;

pub fn routes() -> OpenApiRouter<Arc<Site>> {
    OpenApiRouter::new()
        .routes(routes!(jobs, queue))
        .routes(routes!(job, cancel))
        .routes(routes!(workers))
        .routes(routes!(triggers))
        .routes(routes!(backfill))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct Count {
    /// At most 1000; 100 without it.
    #[param(minimum = 1, maximum = 1000)]
    count: Option<i64>,
}

/// The newest jobs, newest first; their plans and runs are with each job
#[utoipa::path(get, path = "/api/v1/jobs", params(Count), responses((status = 200, body = Vec<Job>), (status = 400, body = ProblemDocument)))]
async fn jobs(
    State(site): State<Arc<Site>>,
    asked: Result<Query<Count>, QueryRejection>,
) -> Result<Json<Vec<Job>>, Refusal> {
    let count = parameters(asked, "count=NUMBER, from 1 to 1000")?.count.unwrap_or(JOBS_DEFAULT);
    if !(1..=JOBS_MAX).contains(&count) {
        return Err(Refusal::Parameter { found: count.to_string(), expected: "count=NUMBER, from 1 to 1000" });
    }
    let mut jobs = site.store().jobs(count).await.map_err(Refusal::of_store)?;
    jobs.iter_mut().for_each(|job| job.plan = String::new());
    Ok(Json(jobs))
}

/// A job with its plan and the addresses of its runs
#[utoipa::path(
    get, path = "/api/v1/jobs/{job}", params(("job" = String, Path, description = "Name of the job")),
    responses((status = 200, body = Job), (status = 404, body = ProblemDocument))
)]
async fn job(State(site): State<Arc<Site>>, Path(job): Path<String>) -> Result<Json<Job>, Refusal> {
    let found = site.store().job(&job).await.map_err(Refusal::of_store)?;
    found.map(Json).ok_or(Refusal::NoSuchJob(job))
}

/// A plan to run on boards.
#[derive(Debug, Deserialize, ToSchema)]
struct Queued {
    /// Each gets a job of its own.
    boards: Vec<String>,
    plan_name: String,
    /// The text of a plan file. A plan may run commands on its board.
    plan: String,
    /// The kernel that it is for, if it is for one.
    kernel: Option<String>,
    /// Jobs with a higher one run first.
    #[serde(default)]
    priority: i64,
    /// How often a job is started at most, 1 to 100; 3 without it.
    attempts_max: Option<i64>,
}

/// Queue a plan for boards
#[utoipa::path(
    post, path = "/api/v1/jobs", request_body = Queued,
    responses(
        (status = 201, body = Vec<Job>, description = "The new jobs; a board on which the same plan waits or runs for the same kernel gets none"),
        (status = 403, body = ProblemDocument, description = "The token does not have the role run"),
        (status = 413, body = ProblemDocument), (status = 422, body = ProblemDocument, description = "The plan has mistakes")
    )
)]
async fn queue(
    State(site): State<Arc<Site>>,
    Extension(identity): Extension<Identity>,
    body: Result<Json<Queued>, JsonRejection>,
) -> Result<(StatusCode, Json<Vec<Job>>), Refusal> {
    let Json(queued) = body.map_err(|rejection| {
        Refusal::of_body(site.limits().body_bytes_max, rejection.status(), rejection.body_text())
    })?;
    let attempts_max = queued.attempts_max.unwrap_or(ATTEMPTS_DEFAULT);
    if !(1..=ATTEMPTS_MAX).contains(&attempts_max) {
        return Err(Refusal::Body(format!("attempts_max is {attempts_max}, and not from 1 to {ATTEMPTS_MAX}")));
    }
    if queued.boards.is_empty() || queued.boards.len() > BOARDS_MAX {
        return Err(Refusal::Body(format!("{} boards, and not from 1 to {BOARDS_MAX}", queued.boards.len())));
    }
    site.archives().check_plan(&queued.plan_name, &queued.plan).map_err(|error| Refusal::PlanRefused(error.0))?;
    let request = |board: &String| JobRequest {
        board: board.clone(),
        plan_name: queued.plan_name.clone(),
        plan: queued.plan.clone(),
        kernel: queued.kernel.clone(),
        because: format!("API, {}", identity.who()),
        priority: queued.priority,
        attempts_max,
    };
    let requests: Vec<JobRequest> = queued.boards.iter().map(request).collect();
    let jobs = site.store().queue_missing(&requests, identity.who()).await.map_err(Refusal::of_store)?;
    Ok((StatusCode::CREATED, Json(jobs)))
}

/// Cancel a job that does not run yet
#[utoipa::path(
    delete, path = "/api/v1/jobs/{job}", params(("job" = String, Path, description = "Name of the job")),
    responses(
        (status = 200, body = Job), (status = 403, body = ProblemDocument), (status = 404, body = ProblemDocument),
        (status = 409, body = ProblemDocument, description = "It runs or has ended")
    )
)]
async fn cancel(
    State(site): State<Arc<Site>>,
    Extension(identity): Extension<Identity>,
    Path(job): Path<String>,
) -> Result<Json<Job>, Refusal> {
    cancelled(&site, &identity, &job).await.map(Json)
}

/// Cancels it under the name of who did; the job as it is now.
pub async fn cancelled(site: &Site, identity: &Identity, name: &str) -> Result<Job, Refusal> {
    let store = site.store();
    let now = store.now_unix_ns().await.map_err(Refusal::of_store)?;
    let was_cancelled = store.cancel(name, identity.who(), now).await.map_err(Refusal::of_store)?;
    let job = store.job(name).await.map_err(Refusal::of_store)?;
    let job = job.ok_or_else(|| Refusal::NoSuchJob(name.to_owned()))?;
    if was_cancelled { Ok(job) } else { Err(Refusal::JobNotQueued { state: job.state.word() }) }
}

/// The workers of the last week, with the boards that each reaches and its last report
#[utoipa::path(get, path = "/api/v1/workers", responses((status = 200, body = Vec<WorkerRow>)))]
async fn workers(State(site): State<Arc<Site>>) -> Result<Json<Vec<WorkerRow>>, Refusal> {
    site.store().workers().await.map(Json).map_err(Refusal::of_store)
}

/// Plans that are queued by themselves: at an interval, by a webhook, or for the kernels around a change
#[utoipa::path(get, path = "/api/v1/triggers", responses((status = 200, body = Vec<Trigger>)))]
async fn triggers(State(site): State<Arc<Site>>) -> Result<Json<Vec<Trigger>>, Refusal> {
    site.store().triggers().await.map(Json).map_err(Refusal::of_store)
}

/// Queue the plan of a trigger of this board for each kernel between the last run before a change and the first one after it
#[utoipa::path(
    post, path = "/api/v1/changes/{change}/backfill", params(("change" = String, Path, description = "Name of the change")),
    responses(
        (status = 201, body = Vec<Job>, description = "The new jobs; kernels that wait already get none"),
        (status = 403, body = ProblemDocument), (status = 404, body = ProblemDocument),
        (status = 409, body = ProblemDocument, description = "No trigger of the board knows a kernel between them")
    )
)]
async fn backfill(
    State(site): State<Arc<Site>>,
    Extension(identity): Extension<Identity>,
    Path(change): Path<String>,
) -> Result<(StatusCode, Json<Vec<Job>>), Refusal> {
    backfilled(&site, &identity, &change).await.map(|jobs| (StatusCode::CREATED, Json(jobs)))
}

/// Queues them under the name of who wants it.
pub async fn backfilled(site: &Site, identity: &Identity, change: &str) -> Result<Vec<Job>, Refusal> {
    let store = site.store();
    let found = store.change(change).await.map_err(Refusal::of_store)?;
    let (_, board) = found.ok_or_else(|| Refusal::NoSuchChange(change.to_owned()))?;
    let triggers = store.triggers().await.map_err(Refusal::of_store)?;
    for trigger in triggers.iter().filter(|trigger| trigger.can_backfill(&board)) {
        let suspects = store.suspects_of_change(change, &trigger.kernels).await.map_err(Refusal::of_store)?;
        if let Some(suspects) = suspects.filter(|suspects| !suspects.kernels.is_empty()) {
            let requests = suspects.requests(trigger);
            return store.queue_missing(&requests, identity.who()).await.map_err(Refusal::of_store);
        }
    }
    Err(Refusal::NothingBetween(board))
}
