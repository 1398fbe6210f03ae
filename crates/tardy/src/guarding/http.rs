//! Figures, accounts and saves over HTTP: bounded in connections, sizes and times, on loopback unless the configuration says otherwise.

mod token;

use super::figures::Figures;
use super::ring;
use crate::exit::UsageError;
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{AUTHORIZATION, CACHE_CONTROL, CONTENT_TYPE, HOST, WWW_AUTHENTICATE};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use runner::run::MeterRequests;
use serde::Deserialize;
use serde_json::json;
use server::access::OwnSecret;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, Semaphore};
use tokio::time::{Instant, sleep, timeout};

/// Connections at a time; more are closed.
const CONNECTIONS_MAX: usize = 16;
/// Time for the head of a request, and for a whole connection.
const HEAD: Duration = Duration::from_secs(5);
const CONNECTION: Duration = Duration::from_secs(30);
/// The least that hyper has room for.
const HEAD_BYTES_MAX: usize = 8 << 10;
/// Pause after the system refused a connection for want of files or memory.
const RETRY: Duration = Duration::from_millis(100);
/// Lines of one answer, of at most 2 kB each.
const LINES_MAX: usize = 200;
/// Time for the account of saved seconds, after which they are on their way.
const SAVE: Duration = Duration::from_secs(10);
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// The file of the token, unless the configuration names one.
const TOKEN_FILE: &str = "http-token";

const TEXT: &str = "text/plain; charset=utf-8";
const METRICS: &str = "text/plain; version=0.0.4; charset=utf-8";
const LINES: &str = "application/x-ndjson";
const JSON: &str = "application/json";

/// The table `[http]`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HttpSettings {
    listen: SocketAddr,
    /// Made if it is missing.
    token_file: Option<PathBuf>,
}

/// State that requests read.
pub struct Served {
    pub ring: PathBuf,
    pub figures: Arc<Mutex<Figures>>,
    pub requests: MeterRequests,
    /// Number of the newest account of saved seconds.
    pub saved: Arc<AtomicU64>,
}

struct Site {
    served: Served,
    token: OwnSecret,
    /// Other machines reach it.
    is_open: bool,
}

/// A running server.
pub struct Http {
    ending: Arc<Notify>,
    thread: JoinHandle<()>,
}

type Answer = Response<Full<Bytes>>;

impl Http {
    /// Binds the address, and reads or makes the token.
    ///
    /// # Errors
    /// If the address is taken, or the token cannot be used.
    pub fn start(settings: &HttpSettings, folder: &Path, served: Served) -> anyhow::Result<Self> {
        let address = settings.listen;
        let refused = |because: String| UsageError(format!("[http]: {because}"));
        let file = settings.token_file.as_ref().map_or_else(|| served.ring.join(TOKEN_FILE), |file| folder.join(file));
        let token = token::read_or_make(&file).map_err(refused)?;
        let bound = std::net::TcpListener::bind(address);
        let listener = bound
            .map_err(|error| refused(format!("failed to listen on {address}: {error}; choose another `listen`")))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let site = Arc::new(Site { served, token: OwnSecret::of(token), is_open: !address.ip().is_loopback() });
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let ending = Arc::new(Notify::new());
        let ended = Arc::clone(&ending);
        let work = move || {
            runtime.block_on(async {
                tokio::select! { () = accept(listener, &site) => {}, () = ended.notified() => {} }
            });
        };
        let thread = thread::Builder::new().name("tardy:http".into()).spawn(work)?;
        complain!("tardy guard: answers on http://{address}; the token is in {}", file.display());
        Ok(Self { ending, thread })
    }

    pub fn end(self) {
        self.ending.notify_one();
        let _ = self.thread.join();
    }
}

async fn accept(listener: std::net::TcpListener, site: &Arc<Site>) {
    let Ok(listener) = TcpListener::from_std(listener) else { return };
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            sleep(RETRY).await;
            continue;
        };
        let Ok(place) = Arc::clone(&places).try_acquire_owned() else { continue };
        let site = Arc::clone(site);
        tokio::spawn(async move {
            // A client that breaks off or is too slow ends its own connection alone.
            let _ = timeout(CONNECTION, serve(stream, site)).await;
            drop(place);
        });
    }
}

async fn serve(stream: TcpStream, site: Arc<Site>) -> hyper::Result<()> {
    let service = service_fn(move |request: Request<Incoming>| {
        let site = Arc::clone(&site);
        async move { Ok::<_, Infallible>(site.answer(&request).await) }
    });
    let mut server = http1::Builder::new();
    server.timer(TokioTimer::new()).header_read_timeout(HEAD).max_buf_size(HEAD_BYTES_MAX).keep_alive(false);
    server.serve_connection(TokioIo::new(stream), service).await
}

impl Site {
    /// Bodies of requests are not read.
    async fn answer<B>(&self, request: &Request<B>) -> Answer {
        if !self.is_open && !is_for_this_host(request) {
            return plain(StatusCode::MISDIRECTED_REQUEST, "this server has the name localhost\n");
        }
        let changes = request.method() == Method::POST;
        if (self.is_open || changes) && !self.has_token(request) {
            let mut answer = plain(StatusCode::UNAUTHORIZED, "send the header `authorization: Bearer TOKEN`\n");
            answer.headers_mut().insert(WWW_AUTHENTICATE, hyper::header::HeaderValue::from_static("Bearer"));
            return answer;
        }
        match (request.method().as_str(), request.uri().path()) {
            ("GET", "/metrics") => {
                let figures = self.served.figures.lock().unwrap_or_else(PoisonError::into_inner);
                answer(StatusCode::OK, METRICS, figures.prometheus())
            }
            ("GET", "/accounts") => self.accounts(request.uri().query()),
            ("POST", "/save") => self.save().await,
            (_, "/metrics" | "/accounts" | "/save") => {
                plain(StatusCode::METHOD_NOT_ALLOWED, "GET /metrics, GET /accounts?after=N or POST /save\n")
            }
            _ => plain(StatusCode::NOT_FOUND, "GET /metrics, GET /accounts?after=N or POST /save\n"),
        }
    }

    fn has_token<B>(&self, request: &Request<B>) -> bool {
        let presented = request.headers().get(AUTHORIZATION).and_then(|value| value.to_str().ok());
        let token = presented.and_then(|value| value.split_once(' '));
        token.is_some_and(|(scheme, token)| scheme.eq_ignore_ascii_case("bearer") && self.token.is(token.trim()))
    }

    /// The first entries of the log after a number.
    fn accounts(&self, query: Option<&str>) -> Answer {
        let after = match query {
            None | Some("") => Some(0),
            Some(query) => query.strip_prefix("after=").and_then(|number| number.parse().ok()),
        };
        let Some(after) = after else {
            return plain(StatusCode::BAD_REQUEST, "the query is after=N, the number of an entry\n");
        };
        let mut text = String::new();
        for line in ring::lines_after(&self.served.ring, after, LINES_MAX) {
            text.push_str(&line);
            text.push('\n');
        }
        answer(StatusCode::OK, LINES, text)
    }

    async fn save(&self) -> Answer {
        let before = self.served.saved.load(Relaxed);
        self.served.requests.save();
        let end = Instant::now() + SAVE;
        while Instant::now() < end {
            sleep(LOOK_EVERY).await;
            let number = self.served.saved.load(Relaxed);
            if number != before {
                return answer(StatusCode::OK, JSON, format!("{}\n", json!({ "number": number })));
            }
        }
        answer(StatusCode::ACCEPTED, JSON, format!("{}\n", json!({ "number": null })))
    }
}

/// A name that a foreign site points at this machine is not answered.
fn is_for_this_host<B>(request: &Request<B>) -> bool {
    let mut hosts = request.headers().get_all(HOST).iter();
    let (first, more) = (hosts.next(), hosts.next());
    let host = first.and_then(|host| host.to_str().ok()?.parse::<hyper::http::uri::Authority>().ok());
    more.is_none() && host.is_some_and(|host| tls::is_this_host(host.host()))
}

fn plain(status: StatusCode, text: &str) -> Answer {
    answer(status, TEXT, text.to_owned())
}

fn answer(status: StatusCode, kind: &'static str, text: String) -> Answer {
    let mut answer = Response::new(Full::new(Bytes::from(text)));
    *answer.status_mut() = status;
    answer.headers_mut().insert(CONTENT_TYPE, hyper::header::HeaderValue::from_static(kind));
    answer.headers_mut().insert(CACHE_CONTROL, hyper::header::HeaderValue::from_static("no-store"));
    answer
}

#[cfg(test)]
mod tests;
