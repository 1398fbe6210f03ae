//! The index as JSON: fleet, boards, histories, runs, culprits. Latencies are in ns, instants in ns since 1970.

use crate::data::{DAYS_MAX, Window, now_unix_ns};
use crate::problem::{ProblemDocument, Refusal};
use crate::site::Site;
use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use serde::Deserialize;
use std::error::Error;
use std::sync::Arc;
use store::changes::Change;
use store::queries::board::{History, HistoryPart, PARTS_MAX, Scenario};
use store::queries::culprits::CulpritRow;
use store::queries::fleet::Fleet;
use store::queries::run::{RUNS_MAX, RunDetail, RunRow};
use store::queries::series::SeriesRow;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

const DAYS_DEFAULT: u32 = 366;
const RUNS_DEFAULT: i64 = 100;

type Answer<T> = Result<Json<T>, Refusal>;
type Asked<T> = Result<Query<T>, QueryRejection>;

pub fn routes() -> OpenApiRouter<Arc<Site>> {
    OpenApiRouter::new()
        .routes(routes!(fleet))
        .routes(routes!(board))
        .routes(routes!(history))
        .routes(routes!(parts))
        .routes(routes!(changes))
        .routes(routes!(runs))
        .routes(routes!(run))
        .routes(routes!(culprits))
        .routes(routes!(series))
}

/// A time that ends today.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct Days {
    /// Days until today, 1 to 3660; 366 without it.
    #[param(minimum = 1, maximum = 3660)]
    days: Option<u32>,
}

impl Days {
    /// The days of a request.
    pub fn of(asked: Asked<Self>) -> Result<u32, Refusal> {
        Self::checked(parameters(asked, "days=NUMBER")?.days)
    }

    /// Days within the limits; a year without them.
    pub fn checked(days: Option<u32>) -> Result<u32, Refusal> {
        let days = days.unwrap_or(DAYS_DEFAULT);
        if (1..=DAYS_MAX).contains(&days) {
            return Ok(days);
        }
        Err(Refusal::Parameter { found: days.to_string(), expected: "days=NUMBER, from 1 to 3660" })
    }

    fn window(asked: Asked<Self>) -> Result<Window, Refusal> {
        Ok(Window::of_days(Self::of(asked)?, now_unix_ns()))
    }
}

/// Parameters that can be read.
pub fn parameters<T>(asked: Asked<T>, expected: &'static str) -> Result<T, Refusal> {
    let Query(read) = asked.map_err(|rejection| {
        // The text of the rejection itself begins with the library's own words.
        let found = rejection.source().map_or_else(|| rejection.body_text(), ToString::to_string);
        Refusal::Parameter { found, expected }
    })?;
    Ok(read)
}

/// Every board with its loads: state, newest run, coverage, the last 30 runs
#[utoipa::path(get, path = "/api/v1/fleet", responses((status = 200, body = Fleet), (status = "4XX", body = ProblemDocument)))]
async fn fleet(State(site): State<Arc<Site>>) -> Answer<Fleet> {
    Ok(Json(site.store().fleet().await.map_err(Refusal::of_store)?))
}

/// The scenarios of a board: its loads and ways to measure
#[utoipa::path(
    get, path = "/api/v1/boards/{board}", params(("board" = String, Path, description = "Name of the board")),
    responses((status = 200, body = Vec<Scenario>), (status = 404, body = ProblemDocument))
)]
async fn board(State(site): State<Arc<Site>>, Path(board): Path<String>) -> Answer<Vec<Scenario>> {
    let scenarios = site.store().scenarios(&board).await.map_err(Refusal::of_store)?;
    if scenarios.is_empty() { Err(Refusal::NoSuchBoard(board)) } else { Ok(Json(scenarios)) }
}

/// The runs of a scenario, oldest first, each with its histogram in few buckets
#[utoipa::path(
    get, path = "/api/v1/scenarios/{scenario}/history",
    params(("scenario" = String, Path, description = "Key of the scenario"), Days),
    responses((status = 200, body = History), (status = 404, body = ProblemDocument))
)]
async fn history(State(site): State<Arc<Site>>, Path(key): Path<String>, days: Asked<Days>) -> Answer<History> {
    let Window { from_unix_ns, until_unix_ns } = Days::window(days)?;
    let history = site.store().history(&key, from_unix_ns, until_unix_ns).await.map_err(Refusal::of_store)?;
    history.map(Json).ok_or(Refusal::NoSuchBoard(key))
}

/// A time, and the number of its parts.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct Divided {
    /// Days until today, 1 to 3660; 366 without it.
    #[param(minimum = 1, maximum = 3660)]
    days: Option<u32>,
    /// Parts of equal length, 1 to 400; 52 without it.
    #[param(minimum = 1, maximum = 400)]
    parts: Option<usize>,
}

/// The valid runs of a scenario, added up for stretches of equal length
#[utoipa::path(
    get, path = "/api/v1/scenarios/{scenario}/parts",
    params(("scenario" = String, Path, description = "Key of the scenario"), Divided),
    responses((status = 200, body = Vec<HistoryPart>), (status = "4XX", body = ProblemDocument))
)]
async fn parts(
    State(site): State<Arc<Site>>,
    Path(key): Path<String>,
    asked: Asked<Divided>,
) -> Answer<Vec<HistoryPart>> {
    let Divided { days, parts } = parameters(asked, "days=NUMBER and parts=NUMBER")?;
    let Window { from_unix_ns, until_unix_ns } = Days::window(Ok(Query(Days { days })))?;
    let parts = parts.unwrap_or(52);
    if !(1..=PARTS_MAX).contains(&parts) {
        return Err(Refusal::Parameter { found: parts.to_string(), expected: "parts=NUMBER, from 1 to 400" });
    }
    let parts = site.store().history_parts(&key, from_unix_ns, until_unix_ns, parts).await;
    parts.map(Json).map_err(Refusal::of_store)
}

/// The changes of a scenario that the index keeps, with what people decided about each; found last first
#[utoipa::path(
    get, path = "/api/v1/scenarios/{scenario}/changes",
    params(("scenario" = String, Path, description = "Key of the scenario")), responses((status = 200, body = Vec<Change>))
)]
async fn changes(State(site): State<Arc<Site>>, Path(key): Path<String>) -> Answer<Vec<Change>> {
    site.store().changes(Some(&key)).await.map(Json).map_err(Refusal::of_store)
}

/// Where a list of runs continues.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct Page {
    /// Start and digest of the last run of the list before, as `STARTED_UNIX_NS.DIGEST`.
    before: Option<String>,
    /// Runs in the list, 1 to 1000; 100 without it.
    #[param(minimum = 1, maximum = 1000)]
    count: Option<i64>,
}

/// The newest runs of all boards, newest first
#[utoipa::path(get, path = "/api/v1/runs", params(Page), responses((status = 200, body = Vec<RunRow>), (status = "4XX", body = ProblemDocument)))]
async fn runs(State(site): State<Arc<Site>>, asked: Asked<Page>) -> Answer<Vec<RunRow>> {
    let Page { before, count } = parameters(asked, "before=STARTED.DIGEST and count=NUMBER")?;
    let count = count.unwrap_or(RUNS_DEFAULT);
    if !(1..=RUNS_MAX).contains(&count) {
        return Err(Refusal::Parameter { found: count.to_string(), expected: "count=NUMBER, from 1 to 1000" });
    }
    let wrong = || Refusal::Parameter {
        found: before.clone().unwrap_or_default(),
        expected: "before=STARTED.DIGEST, of the last run of the list before",
    };
    let place = match &before {
        Some(place) => {
            let (started, digest) = place.split_once('.').ok_or_else(wrong)?;
            Some((started.parse().map_err(|_| wrong())?, digest))
        }
        None => None,
    };
    site.store().runs(place, count).await.map(Json).map_err(Refusal::of_store)
}

/// A run: figures, machine, settings, causes
#[utoipa::path(
    get, path = "/api/v1/runs/{digest}", params(("digest" = String, Path, description = "SHA-256 of the archive")),
    responses((status = 200, body = RunDetail), (status = 404, body = ProblemDocument))
)]
async fn run(State(site): State<Arc<Site>>, Path(digest): Path<String>) -> Answer<RunDetail> {
    let run = site.store().run(&digest).await.map_err(Refusal::of_store)?;
    run.map(Json).ok_or(Refusal::NoSuchRun(digest))
}

/// Which causes delayed wake-ups, by board and load; most spikes first
#[utoipa::path(get, path = "/api/v1/culprits", params(Days), responses((status = 200, body = Vec<CulpritRow>), (status = "4XX", body = ProblemDocument)))]
async fn culprits(State(site): State<Arc<Site>>, days: Asked<Days>) -> Answer<Vec<CulpritRow>> {
    let Window { from_unix_ns, until_unix_ns } = Days::window(days)?;
    site.store().culprits(from_unix_ns, until_unix_ns).await.map(Json).map_err(Refusal::of_store)
}

/// A board, if only its series are wanted.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct OfBoard {
    board: Option<String>,
}

/// The dictionary of series: one figure of one load and method on one board and kernel line
#[utoipa::path(get, path = "/api/v1/series", params(OfBoard), responses((status = 200, body = Vec<SeriesRow>)))]
async fn series(State(site): State<Arc<Site>>, asked: Asked<OfBoard>) -> Answer<Vec<SeriesRow>> {
    let board = parameters(asked, "board=NAME")?.board;
    site.store().series(board.as_deref()).await.map(Json).map_err(Refusal::of_store)
}
