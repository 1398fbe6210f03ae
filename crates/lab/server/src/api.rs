//! The routes: the API below `/api/v1` with its OpenAPI document, and the pages.

pub mod archives;
pub mod changes;
pub mod experiments;
pub mod hooks;
pub mod jobs;
pub mod lab;
pub mod live;
pub mod news;

use crate::guard;
use crate::metrics;
use crate::pages;
use crate::problem::{ProblemDocument, Refusal};
use crate::site::Site;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router, middleware};
use std::any::Any;
use std::sync::Arc;
use tower_http::catch_panic::CatchPanicLayer;
use utoipa::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// The OpenAPI document's words about the API as a whole.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "tardy",
        description = "Boards and runs of a lab. Latencies are integers in ns.",
        license(name = "Apache-2.0 OR MIT")
    ),
    components(schemas(ProblemDocument))
)]
struct Description;

/// Every address.
pub fn router(site: Arc<Site>) -> Router {
    let (api, _) = documented().split_for_parts();
    api.route("/api/v1/openapi.json", get(|| async { openapi_document() }))
        .route("/metrics", get(metrics::metrics))
        .merge(pages::router())
        .fallback(|request: Request| async move { Refusal::NoSuchPage(request.uri().path().to_owned()) })
        .method_not_allowed_fallback(|request: Request| async move { Refusal::Method(request.method().to_string()) })
        .layer(DefaultBodyLimit::max(site.limits().body_bytes_max))
        .layer(CatchPanicLayer::custom(|_: Box<dyn Any + Send>| Refusal::Defect.into_response()))
        .layer(middleware::from_fn_with_state(Arc::clone(&site), guard::guard))
        .with_state(site)
}

/// The OpenAPI 3.1 document of the API, as JSON.
pub fn open_api() -> String {
    let (_, document) = documented().split_for_parts();
    document.to_pretty_json().unwrap_or_default()
}

fn documented() -> OpenApiRouter<Arc<Site>> {
    OpenApiRouter::with_openapi(Description::openapi())
        .routes(routes!(health))
        .merge(lab::routes())
        .merge(news::routes())
        .merge(changes::routes())
        .merge(experiments::routes())
        .merge(jobs::routes())
        .merge(live::routes())
        .merge(hooks::routes())
        .merge(archives::routes())
}

fn openapi_document() -> Response {
    ([(header::CONTENT_TYPE, "application/json")], open_api()).into_response()
}

/// Whether the server answers.
#[derive(Debug, serde::Serialize, utoipa::ToSchema)]
struct Health {
    version: String,
}

/// Whether the server answers, and its version
#[utoipa::path(get, path = "/api/v1/health", responses((status = 200, body = Health)))]
async fn health(State(_): State<Arc<Site>>) -> Json<Health> {
    Json(Health { version: env!("CARGO_PKG_VERSION").to_owned() })
}
