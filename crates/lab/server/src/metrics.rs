//! `/metrics`: what Prometheus reads, as OpenMetrics text.
//!
//! Figures of the lab come from the index at each request, so that several servers behind one database report the same.
//! Only the figures about requests belong to this process.

mod lab;
mod requests;

pub use requests::Requests;

use crate::problem::Refusal;
use crate::site::Site;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use prometheus_client::encoding::text::{encode_eof, encode_registry};
use std::sync::Arc;

const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Figures of the lab and of this server.
pub async fn metrics(State(site): State<Arc<Site>>) -> Result<Response, Refusal> {
    let lab = lab::registry(site.store()).await.map_err(Refusal::of_store)?;
    let mut text = String::new();
    let encoded = encode_registry(&mut text, &lab)
        .and_then(|()| encode_registry(&mut text, site.requests().registry()))
        .and_then(|()| encode_eof(&mut text));
    encoded.map_err(|_| Refusal::Defect)?;
    Ok(([(header::CONTENT_TYPE, CONTENT_TYPE)], text).into_response())
}
