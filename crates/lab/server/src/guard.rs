//! Checks every request before it is answered: host, rate, token, role, origin, time. Adds the headers of every answer.

mod asked;
mod headers;
mod host;
mod identity;
mod peer;
mod proxy;
mod rate;
mod signature;

pub use asked::Asked;
pub use identity::{Identity, cookie, cookie_of_desk, no_cookie};
pub use peer::Peer;
pub use proxy::{Proxy, ProxyError};
pub use rate::Rates;
pub use signature::is_signed;

use crate::api::archives::is_upload;
use crate::api::hooks;
use crate::limits::Limits;
use crate::pages;
use crate::problem::Refusal;
use crate::site::Site;
use axum::extract::{Request, State};
use axum::http::{Method, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::sync::Arc;
use std::time::Instant;

/// Answers a request if it may be answered, and never without the headers that protect the reader.
pub async fn guard(State(site): State<Arc<Site>>, request: Request, next: Next) -> Response {
    let (asked, method, started) = (Asked::of(&request), request.method().clone(), Instant::now());
    let answered = match admitted(&site, &request) {
        Ok(identity) => {
            let mut request = request;
            request.extensions_mut().insert(identity.clone());
            let answer = if is_upload(&request) {
                // It has its own limits.
                next.run(request).await
            } else {
                let limit_s = site.limits().request.as_secs();
                let answer = tokio::time::timeout(site.limits().request, next.run(request)).await;
                answer.unwrap_or_else(|_| Refusal::TooSlow { limit_s }.into_response())
            };
            pages::presented(answer, &asked, &identity)
        }
        Err(refusal) => pages::presented(refusal.into_response(), &asked, &Identity::default()),
    };
    site.requests().answered(&method, answered.status(), started.elapsed());
    headers::protected(answered, &asked)
}

fn admitted(site: &Site, request: &Request) -> Result<Identity, Refusal> {
    let now = Instant::now();
    let peer = request.extensions().get::<Peer>().map(|peer| peer.0);
    let client_of = |peer| site.lab.proxy.as_ref().map_or(peer, |proxy| proxy.client_of(request.headers(), peer));
    let client = peer.map(client_of);
    if let Some(client) = client {
        site.rates().request(client, now, site.limits())?;
    }
    host::check(request, &site.lab.hosts)?;
    let identity = match site.desk() {
        Some(desk) => identity::at_desk(request, &desk.entrance),
        None => identity::of(request, site.tokens(), site.lab.proxy.as_ref(), peer),
    };
    if identity == Err(Refusal::TokenUnknown)
        && let Some(client) = client
    {
        site.rates().wrong_token(client, now, site.limits())?;
    }
    let path = request.uri().path();
    let is_public = if site.desk().is_some() { identity::is_public_at_desk(path) } else { identity::is_public(path) };
    if !is_public {
        let role = identity.clone()?.role.ok_or(Refusal::TokenMissing)?;
        let needed = identity::needed(request.method(), request.uri().path());
        if role < needed {
            return Err(Refusal::Role { has: role, needed });
        }
    }
    if ![Method::GET, Method::HEAD, Method::OPTIONS].contains(request.method()) {
        host::same_origin(request)?;
        let Limits { body_bytes_max, upload_bytes_max, .. } = *site.limits();
        let bytes_max = match request.uri().path() {
            _ if is_upload(request) => upload_bytes_max,
            path if path.starts_with(hooks::HOOKS) => hooks::BYTES_MAX as u64,
            _ => body_bytes_max as u64,
        };
        if content_length(request).is_some_and(|bytes| bytes > bytes_max) {
            return Err(Refusal::TooLarge { bytes_max });
        }
    }
    Ok(identity.unwrap_or_default())
}

fn content_length(request: &Request) -> Option<u64> {
    request.headers().get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}
