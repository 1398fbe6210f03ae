//! Logging in and out: a token becomes a cookie that scripts cannot read.

use super::as_html;
use super::layout::{Page, Refresh};
use crate::guard::{Identity, Peer, cookie, no_cookie};
use crate::problem::Refusal;
use crate::site::Site;
use archive::problem::ProblemKind;
use axum::extract::rejection::FormRejection;
use axum::extract::{Extension, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use axum::{Form, Router};
use maud::{Markup, html};
use serde::Deserialize;
use std::sync::Arc;
use std::time::Instant;
use words::sentence::sentence;

pub fn router() -> Router<Arc<Site>> {
    Router::new().route("/login", get(show).post(log_in)).route("/logout", post(log_out))
}

/// The login page; `then` is where it leads afterwards.
pub fn page(then: &str, refused: Option<&Refusal>) -> Markup {
    let unknown = refused.filter(|refusal| **refusal == Refusal::TokenUnknown);
    Page { title: "Log in", here: "", identity: &Identity::default(), refresh: Refresh::Never }.around(html! {
        h1 { "Log in" }
        p.lead { "This server shows its runs to holders of a token." }
        @if let Some(refusal) = unknown {
            p.validity.invalid role="alert" data-problem=(refusal.code()) { strong { (sentence(&refusal.to_string())) } }
        }
        form.login method="post" action="/login" {
            label for="token" { "Token" }
            input #token name="token" type="password" autocomplete="current-password" required autofocus;
            input type="hidden" name="then" value=(inside(then));
            button { "Log in" }
        }
        p.note { "An administrator makes tokens with " code { "tardy lab serve --add-token read:NAME" } "." }
    })
}

/// Only an address of this server: another one would make the login page a relay to foreign sites.
fn inside(then: &str) -> &str {
    let own = then.starts_with('/') && !then.starts_with("//") && !then.contains(['\\', '\r', '\n']);
    if own && then != "/login" { then } else { "/" }
}

#[derive(Deserialize)]
struct Login {
    token: String,
    #[serde(default)]
    then: String,
}

async fn show() -> Response {
    as_html(&page("/", None))
}

async fn log_in(
    State(site): State<Arc<Site>>,
    peer: Option<Extension<Peer>>,
    headers: HeaderMap,
    form: Result<Form<Login>, FormRejection>,
) -> Result<Response, Refusal> {
    let Form(login) = form.map_err(|rejection| {
        Refusal::of_body(site.limits().body_bytes_max, rejection.status(), rejection.body_text())
    })?;
    let token = login.token.trim();
    if site.tokens().holder(token).is_none() {
        if let Some(Extension(peer)) = peer {
            site.rates().wrong_token(peer.0, Instant::now(), site.limits())?;
        }
        let again = as_html(&page(&login.then, Some(&Refusal::TokenUnknown)));
        return Ok((StatusCode::UNAUTHORIZED, again).into_response());
    }
    let by_https = headers.get("x-forwarded-proto").is_some_and(|scheme| scheme == "https");
    let kept = [(header::SET_COOKIE, cookie(token, by_https))];
    Ok((kept, Redirect::to(inside(&login.then))).into_response())
}

async fn log_out() -> Response {
    ([(header::SET_COOKIE, no_cookie())], Redirect::to("/login")).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_login_leads_to_this_server_only() {
        assert_eq!(inside("/boards/pi?days=30"), "/boards/pi?days=30");
        for foreign in
            ["", "//evil.example", "http://evil.example", "/\\evil.example", "/x\r\nset-cookie: a=b", "/login"]
        {
            assert_eq!(inside(foreign), "/", "{foreign}");
        }
    }
}
