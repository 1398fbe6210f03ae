//! Runs in progress: a list, the state of one, and its states as server-sent events.

use crate::live::{LiveRun, follow, newest};
use crate::pages::live_fragment;
use crate::problem::{ProblemDocument, Refusal};
use crate::site::Site;
use axum::Json;
use axum::body::{Body, Bytes, HttpBody};
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use hyper::body::Frame;
use serde::Deserialize;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tokio::time::{Instant, timeout, timeout_at};
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::lab::parameters;

/// Runs in progress that a list has: each is read for it.
const RUNS_MAX: usize = 50;
/// When a client that found all places taken tries again.
const BUSY_WAIT_S: u64 = 10;
/// A line that says nothing keeps proxies from ending a silent stream.
const SILENCE_MAX: Duration = Duration::from_secs(15);

pub fn routes() -> OpenApiRouter<Arc<Site>> {
    OpenApiRouter::new().routes(routes!(running)).routes(routes!(state)).routes(routes!(events))
}

/// Runs in progress below the directory of the lab, with what is known of them; at most 50
#[utoipa::path(get, path = "/api/v1/live", responses((status = 200, body = Vec<LiveRun>)))]
async fn running(State(site): State<Arc<Site>>) -> Json<Vec<LiveRun>> {
    Json(states(&site).await)
}

/// The newest states of runs in progress, at most 50; one that just ended is left out.
pub async fn states(site: &Arc<Site>) -> Vec<LiveRun> {
    let mut states = Vec::new();
    for name in site.running_runs().names().into_iter().take(RUNS_MAX) {
        states.extend(newest(site, &name).await.ok().filter(|run| run.goes_on).map(|run| (*run).clone()));
    }
    states
}

/// A run in progress
#[utoipa::path(
    get, path = "/api/v1/live/{run}", params(("run" = String, Path, description = "Name of the run in /api/v1/live")),
    responses((status = 200, body = LiveRun), (status = 404, body = ProblemDocument, description = "It has ended, or never ran"))
)]
async fn state(State(site): State<Arc<Site>>, Path(run): Path<String>) -> Result<Json<LiveRun>, Refusal> {
    newest(&site, &run).await.map(|run| Json((*run).clone()))
}

/// How the states are sent.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct Form {
    /// `page` sends each state as a part of the page instead of JSON.
    form: Option<String>,
}

/// The states of a run in progress as server-sent events: `state` for each, `end` when the run has ended. A reader that is slow
/// misses states, never the newest one
#[utoipa::path(
    get, path = "/api/v1/live/{run}/events", params(("run" = String, Path, description = "Name of the run"), Form),
    responses(
        (status = 200, content_type = "text/event-stream", body = String),
        (status = 404, body = ProblemDocument), (status = 503, body = ProblemDocument, description = "Too many open event streams")
    )
)]
async fn events(
    State(site): State<Arc<Site>>,
    Path(run): Path<String>,
    asked: Result<Query<Form>, QueryRejection>,
) -> Result<Response, Refusal> {
    let as_page = parameters(asked, "form=page")?.form.as_deref() == Some("page");
    let states = follow(&site, &run).await?;
    let place = site.place_for_stream().ok_or(Refusal::StreamsBusy { wait_s: BUSY_WAIT_S })?;
    let until = Instant::now() + site.limits().stream;
    let (sender, receiver) = mpsc::channel(1);
    tokio::spawn(send(states, sender, until, as_page, place));
    let headers = [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-store")];
    Ok((headers, Body::new(Events(receiver))).into_response())
}

/// Sends states until the run, the time or the client ends. The next one is taken when the client has room for it.
async fn send(
    mut states: tokio::sync::watch::Receiver<Option<Arc<LiveRun>>>,
    sender: mpsc::Sender<Bytes>,
    until: Instant,
    as_page: bool,
    place: OwnedSemaphorePermit,
) {
    let _place = place;
    loop {
        let Ok(room) = timeout_at(until, sender.reserve()).await else { return };
        let Ok(room) = room else { return };
        let state = states.borrow_and_update().clone();
        if let Some(state) = state {
            room.send(event("state", &text(&state, as_page)));
            if !state.goes_on {
                let _ = timeout_at(until, sender.send(event("end", "{}"))).await;
                return;
            }
        } else {
            drop(room);
        }
        let wait = SILENCE_MAX.min(until.saturating_duration_since(Instant::now()));
        match timeout(wait, states.changed()).await {
            Ok(Ok(())) => {}
            // The look ended: the archive is gone.
            Ok(Err(_)) => return,
            Err(_) if Instant::now() >= until => return,
            Err(_) => {
                let silent = timeout_at(until, sender.send(Bytes::from_static(b": nothing new\n\n"))).await;
                if !matches!(silent, Ok(Ok(()))) {
                    return;
                }
            }
        }
    }
}

fn text(state: &LiveRun, as_page: bool) -> String {
    if as_page { live_fragment(state).into_string() } else { serde_json::to_string(state).unwrap_or_default() }
}

/// An event. Text with line breaks is sent line by line, and arrives as it was.
fn event(name: &str, data: &str) -> Bytes {
    let mut text = format!("event: {name}\n");
    for line in data.split(['\n', '\r']) {
        text.push_str("data: ");
        text.push_str(line);
        text.push('\n');
    }
    text.push('\n');
    text.into()
}

/// A body that goes on until its sender ends.
struct Events(mpsc::Receiver<Bytes>);

impl HttpBody for Events {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0.poll_recv(context).map(|event| event.map(|event| Ok(Frame::data(event))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_can_add_an_event() {
        let sent = event("state", "a\n\nevent: end\ndata: x\rdata: y");
        let text = std::str::from_utf8(&sent).unwrap();
        assert_eq!(text.matches("\n\n").count(), 1);
        assert!(text.lines().skip(1).filter(|line| !line.is_empty()).all(|line| line.starts_with("data: ")), "{text}");
    }
}
