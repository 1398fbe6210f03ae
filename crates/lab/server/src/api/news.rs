//! Changes in the lab, as JSON.

use super::lab::{Days, parameters};
use crate::data::now_unix_ns;
use crate::problem::{ProblemDocument, Refusal};
use crate::site::Site;
use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use serde::Deserialize;
use std::sync::Arc;
use store::queries::news::News;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

const DAY_NS: i64 = 86_400_000_000_000;
/// Days without a choice: since yesterday.
pub const NEWS_DAYS: u32 = 1;

pub fn routes() -> OpenApiRouter<Arc<Site>> {
    OpenApiRouter::new().routes(routes!(news))
}

/// Start of the time whose news are shown.
pub fn news_since(days: u32, now_unix_ns: i64) -> i64 {
    now_unix_ns.saturating_sub(i64::from(days) * DAY_NS)
}

/// A time that ends now.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct Since {
    /// Days until now, 1 to 3660; 1 without it.
    #[param(minimum = 1, maximum = 3660)]
    days: Option<u32>,
}

/// Changes: loads that became bad or good, new culprits and maxima, silent boards, failed jobs
#[utoipa::path(get, path = "/api/v1/news", params(Since), responses((status = 200, body = News), (status = "4XX", body = ProblemDocument)))]
async fn news(
    State(site): State<Arc<Site>>,
    asked: Result<Query<Since>, QueryRejection>,
) -> Result<Json<News>, Refusal> {
    let days = Days::checked(Some(parameters(asked, "days=NUMBER")?.days.unwrap_or(NEWS_DAYS)))?;
    let (store, now) = (site.store(), now_unix_ns());
    let fleet = store.fleet().await.map_err(Refusal::of_store)?;
    store.news(&fleet, news_since(days, now), now).await.map(Json).map_err(Refusal::of_store)
}
