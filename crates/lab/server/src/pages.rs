//! The pages: numbers as HTML, readable without a script, with links that stay.
//!
//! All text from archives and clients is escaped by maud and isolated in `bdi`.

mod amounts;
mod assets;
mod board;
mod command;
mod compare;
mod conditions;
mod culprits;
mod decision;
mod desk;
mod empty;
mod error;
mod experiment;
mod fleet;
mod lab;
mod layout;
mod links;
mod live;
mod login;
mod matrix;
pub mod picture;
mod queue;
mod run;
mod state;
mod today;
mod turn;

use crate::guard::{Asked, Identity};
use crate::problem::Refusal;
use crate::site::Site;
use axum::Router;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
pub use live::fragment as live_fragment;
use maud::Markup;
use std::sync::Arc;

/// The addresses of pages.
pub fn router() -> Router<Arc<Site>> {
    Router::new()
        .merge(lab::router())
        .merge(login::router())
        .merge(decision::router())
        .merge(desk::router())
        .merge(queue::router())
        .merge(live::router())
        .merge(experiment::router())
        .route("/assets/{name}", get(assets::asset))
}

/// A refusal as a page, if the client shows pages; every other answer as it is.
pub fn presented(answer: Response, asked: &Asked, identity: &Identity) -> Response {
    let Some(refusal) = answer.extensions().get::<Refusal>().cloned().filter(|_| asked.page) else { return answer };
    let page = match refusal {
        Refusal::TokenMissing | Refusal::TokenUnknown => login::page(&asked.path, Some(&refusal)),
        _ => error::page(&refusal, identity),
    };
    let mut presented = (refusal.status(), as_html(&page)).into_response();
    for name in [header::RETRY_AFTER] {
        if let Some(value) = answer.headers().get(&name) {
            presented.headers_mut().insert(name, value.clone());
        }
    }
    presented
}

fn as_html(page: &Markup) -> Response {
    ([(header::CONTENT_TYPE, "text/html; charset=utf-8")], page.0.clone()).into_response()
}
