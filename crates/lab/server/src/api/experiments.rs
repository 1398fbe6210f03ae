//! Experiments as JSON: two ways to run, measured in turns, with verdict, figures and the runs of each round.

use crate::experiments::{ExperimentSeries, SeriesState, Side, rounds_in_index};
use crate::problem::{ProblemDocument, Refusal};
use crate::site::Site;
use axum::Json;
use axum::extract::{Path, State};
use judge::experiment::{ExperimentResult, Outcome};
use serde::Serialize;
use std::sync::Arc;
use store::queries::run::RunRow;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub fn routes() -> OpenApiRouter<Arc<Site>> {
    OpenApiRouter::new().routes(routes!(experiments)).routes(routes!(experiment))
}

/// An experiment as lists show it.
#[derive(Debug, Serialize, ToSchema)]
struct Experiment {
    /// Names it in addresses.
    key: String,
    /// Its place below the directory of the lab.
    name: String,
    started_unix_ns: i64,
    state: SeriesState,
    /// `worse`, `better`, `no_difference_found` or `too_few_rounds`, of B against A; null until a round is complete.
    #[schema(value_type = Option<String>)]
    outcome: Option<Outcome>,
    /// The figure that shows most clearly that B is worse; null if none shows it.
    worst: Option<String>,
    /// The verdict in a sentence.
    sentence: Option<String>,
    a: Side,
    b: Side,
    /// Rounds that are complete and count.
    rounds: u32,
    rounds_asked: u32,
}

/// An experiment with its figures and rounds.
#[derive(Debug, Serialize, ToSchema)]
struct ExperimentDetail {
    #[serde(flatten)]
    experiment: Experiment,
    /// Why it failed.
    problem: Option<String>,
    /// Rounds that do not count, and why the last of them does not.
    void_rounds: u64,
    void_because: Option<String>,
    emulated: bool,
    virtual_time: bool,
    /// Every figure with its test, the causes, and the evidence after each round, as `tardy experiment --json` has them.
    #[schema(value_type = Option<Object>)]
    result: Option<ExperimentResult>,
    /// Of the first 100 complete rounds.
    runs: Vec<RoundRuns>,
}

/// The two runs of a round; null for one that is not in the index.
#[derive(Debug, Serialize, ToSchema)]
struct RoundRuns {
    a: Option<RunRow>,
    b: Option<RunRow>,
}

impl From<&ExperimentSeries> for Experiment {
    fn from(series: &ExperimentSeries) -> Self {
        let result = series.result.as_ref();
        let sentence = result.map(|result| series.proof().unwrap_or(&result.sentence).to_owned());
        Self {
            key: series.key.clone(),
            name: series.name.clone(),
            started_unix_ns: series.started_unix_ns,
            state: series.state,
            outcome: result.map(|result| result.outcome),
            worst: series.worst().map(|worst| worst.metric.name.to_string()),
            sentence,
            a: series.a.clone(),
            b: series.b.clone(),
            rounds: result.map_or(0, |result| result.rounds),
            rounds_asked: series.rounds_asked,
        }
    }
}

/// Every experiment below the directory of the lab, newest first
#[utoipa::path(get, path = "/api/v1/experiments", responses((status = 200, body = Vec<Experiment>), (status = "4XX", body = ProblemDocument)))]
async fn experiments(State(site): State<Arc<Site>>) -> Result<Json<Vec<Experiment>>, Refusal> {
    let found = crate::experiments::all(&site).await?;
    Ok(Json(found.iter().map(Experiment::from).collect()))
}

/// An experiment: its verdict, every figure, and the runs of each round
#[utoipa::path(
    get, path = "/api/v1/experiments/{experiment}", params(("experiment" = String, Path, description = "Key of the experiment")),
    responses((status = 200, body = ExperimentDetail), (status = 404, body = ProblemDocument))
)]
async fn experiment(State(site): State<Arc<Site>>, Path(key): Path<String>) -> Result<Json<ExperimentDetail>, Refusal> {
    let series = crate::experiments::with_key(&site, key).await?;
    let runs = rounds_in_index(&site, &series).await?;
    Ok(Json(ExperimentDetail {
        experiment: Experiment::from(&series),
        problem: series.problem,
        void_rounds: series.voids,
        void_because: series.void_because,
        emulated: series.emulated,
        virtual_time: series.virtual_time,
        result: series.result,
        runs: runs.into_iter().map(|[a, b]| RoundRuns { a, b }).collect(),
    }))
}
