//! Decisions of people about changes.

use crate::guard::Identity;
use crate::problem::{ProblemDocument, Refusal};
use crate::site::Site;
use axum::Json;
use axum::extract::rejection::JsonRejection;
use axum::extract::{Extension, Path, State};
use serde::Deserialize;
use std::sync::Arc;
use store::actions::{ACTIONS_MAX, Action};
use store::changes::{Change, Triage};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub fn routes() -> OpenApiRouter<Arc<Site>> {
    OpenApiRouter::new().routes(routes!(triage)).routes(routes!(actions))
}

/// Identity of a change.
#[derive(Debug, Deserialize, ToSchema)]
struct Decision {
    triage: Triage,
}

/// Record what a change is: known, fixed, noise, or new again
#[utoipa::path(
    put, path = "/api/v1/admin/changes/{change}/triage", request_body = Decision,
    params(("change" = String, Path, description = "Name of the change")),
    responses(
        (status = 200, body = Change), (status = 403, body = ProblemDocument, description = "The token does not have the role admin"),
        (status = 404, body = ProblemDocument), (status = 422, body = ProblemDocument)
    )
)]
async fn triage(
    State(site): State<Arc<Site>>,
    Extension(identity): Extension<Identity>,
    Path(change): Path<String>,
    decision: Result<Json<Decision>, JsonRejection>,
) -> Result<Json<Change>, Refusal> {
    let Json(decision) = decision.map_err(|rejection| {
        Refusal::of_body(site.limits().body_bytes_max, rejection.status(), rejection.body_text())
    })?;
    decided(&site, &identity, &change, decision.triage).await.map(|(change, _)| Json(change))
}

/// Records it under the name of who decided; the change as it is now, and its board.
pub async fn decided(
    site: &Site,
    identity: &Identity,
    change: &str,
    triage: Triage,
) -> Result<(Change, String), Refusal> {
    let there = site.store().triage(change, triage, identity.who()).await.map_err(Refusal::of_store)?;
    let found = if there { site.store().change(change).await.map_err(Refusal::of_store)? } else { None };
    found.ok_or_else(|| Refusal::NoSuchChange(change.to_owned()))
}

/// Who changed what: the newest 1000 entries of the audit log, newest first
#[utoipa::path(get, path = "/api/v1/admin/actions", responses((status = 200, body = Vec<Action>), (status = 403, body = ProblemDocument)))]
async fn actions(State(site): State<Arc<Site>>) -> Result<Json<Vec<Action>>, Refusal> {
    site.store().actions(ACTIONS_MAX).await.map(Json).map_err(Refusal::of_store)
}
