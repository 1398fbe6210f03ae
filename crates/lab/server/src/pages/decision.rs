//! The buttons beside a change: records the decision and shows the board again.

use super::links::board_address;
use crate::api::changes::decided;
use crate::api::lab::Days;
use crate::guard::Identity;
use crate::problem::Refusal;
use crate::site::Site;
use axum::extract::rejection::FormRejection;
use axum::extract::{Extension, Path, State};
use axum::response::Redirect;
use axum::routing::post;
use axum::{Form, Router};
use serde::Deserialize;
use std::sync::Arc;
use store::changes::Triage;

pub fn router() -> Router<Arc<Site>> {
    Router::new().route("/changes/{change}/triage", post(decide))
}

#[derive(Debug, Deserialize)]
struct Decision {
    triage: Triage,
    days: Option<u32>,
}

async fn decide(
    State(site): State<Arc<Site>>,
    Extension(identity): Extension<Identity>,
    Path(change): Path<String>,
    form: Result<Form<Decision>, FormRejection>,
) -> Result<Redirect, Refusal> {
    let Form(decision) = form.map_err(|rejection| {
        Refusal::of_body(site.limits().body_bytes_max, rejection.status(), rejection.body_text())
    })?;
    let days = decision.days.map(|days| Days::checked(Some(days))).transpose()?;
    let (change, board) = decided(&site, &identity, &change, decision.triage).await?;
    let days = days.map_or_else(String::new, |days| format!("&days={days}"));
    Ok(Redirect::to(&format!("{}?scenario={}{days}#changes", board_address(&board), change.scenario)))
}
