//! One archive to a server: asks whether to send it, sends it, and tries again where that can help.

use super::address::ServerAddress;
use super::answer::{Answer, Reply};
use super::body::PackedBody;
use hyper::body::{Body, Incoming};
use hyper::client::conn::http1;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, EXPECT, HOST, RETRY_AFTER};
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use store::{Outcome, PackedArchive};
use thiserror::Error as ThisError;
use tls::Roots;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, timeout};
use words::causes::with_causes;

const CONNECT: Duration = Duration::from_secs(10);
/// A server or a proxy may not know that a client can wait to be asked for a body.
const ASKED: Duration = Duration::from_secs(3);
/// Longest time during which a server takes no byte.
const STALLED: Duration = Duration::from_secs(60);
/// Longest time for an answer: the server explains the spikes of the run before.
const ANSWER: Duration = Duration::from_secs(900);
const PROGRESS: Duration = Duration::from_secs(10);
const TICK: Duration = Duration::from_millis(500);
const ANSWER_BYTES_MAX: usize = 64 << 10;
/// Times that an upload is sent again after its connection broke, and pause before each.
const BROKEN_MAX: u32 = 3;
const BROKEN_PAUSE: Duration = Duration::from_secs(2);
/// Longest time of waiting for a busy server, and longest single pause.
const BUSY_MAX: Duration = Duration::from_secs(1800);
const BUSY_PAUSE_MAX: Duration = Duration::from_secs(60);

/// Why an archive was not sent.
#[derive(Debug, ThisError)]
pub enum Failure {
    #[error("{0}")]
    ThisArchive(String),
    /// It may be sent later.
    #[error("{0}")]
    Line(String),
    #[error("{0}")]
    EveryArchive(String),
}

/// How one try ended without an answer.
enum Broken {
    /// It may not be the line.
    Connect(String),
    Line(String),
}

/// An archive on its way.
pub struct Upload<'a> {
    /// For messages.
    pub name: String,
    pub packed: Arc<PackedArchive>,
    pub digest: String,
    pub bytes: u64,
    pub server: &'a ServerAddress,
    pub token: Option<&'a str>,
    pub roots: &'a Roots,
}

/// A connection, encrypted or not.
trait Line: AsyncRead + AsyncWrite + Unpin + Send {}

impl<S: AsyncRead + AsyncWrite + Unpin + Send> Line for S {}

impl Upload<'_> {
    /// Sends it until the server has it. Sending it twice is safe.
    ///
    /// # Errors
    /// If the server refuses it, or cannot be reached.
    pub async fn send(&self) -> Result<Outcome, Failure> {
        let (mut broken, mut waited) = (0, Duration::ZERO);
        loop {
            let (because, pause) = match self.once().await {
                Ok(answer) => match answer.reply(&self.digest) {
                    Reply::Stored(outcome) => return Ok(outcome),
                    Reply::Refused(because) => return Err(Failure::ThisArchive(because)),
                    Reply::RefusedAll(because) => return Err(Failure::EveryArchive(because)),
                    Reply::Busy { because, .. } if waited >= BUSY_MAX => return Err(Failure::EveryArchive(because)),
                    Reply::Busy { wait_s, because } => {
                        let pause = Duration::from_secs(wait_s.max(1)).min(BUSY_PAUSE_MAX);
                        waited += pause;
                        (because, pause)
                    }
                    Reply::Slow(because) => self.after_break(because, &mut broken)?,
                },
                Err(Broken::Line(because)) => self.after_break(because, &mut broken)?,
                Err(Broken::Connect(because)) => return Err(Failure::EveryArchive(because)),
            };
            complain!("tardy: {}: {because}; trying again in {} s", self.name, pause.as_secs());
            sleep(pause).await;
        }
    }

    fn after_break(&self, because: String, broken: &mut u32) -> Result<(String, Duration), Failure> {
        *broken += 1;
        if *broken > BROKEN_MAX { Err(Failure::Line(because)) } else { Ok((because, BROKEN_PAUSE * *broken)) }
    }

    async fn once(&self) -> Result<Answer, Broken> {
        let stream = self.connect().await?;
        let line = |error: hyper::Error| Broken::Line(self.broke(&error));
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(line)?;
        let sent = Arc::new(AtomicU64::new(0));
        let request = self.request(&sent).map_err(|error| Broken::Connect(error.to_string()))?;
        let mut connection = pin!(connection);
        let mut exchange = pin!(async {
            let answer = sender.send_request(request).await?;
            answered(answer).await
        });
        let mut watch = Watch::of(self, &sent);
        let mut open = true;
        loop {
            tokio::select! {
                biased;
                answer = &mut exchange => return answer.map_err(line),
                // The exchange has the bytes that came before its end.
                _ = &mut connection, if open => open = false,
                () = sleep(TICK) => watch.look()?,
            }
        }
    }

    async fn connect(&self) -> Result<Box<dyn Line>, Broken> {
        let ServerAddress { is_https, host, port, authority } = self.server;
        let failed = |why: String| {
            let fix = "check the address, and that `tardy lab serve` runs there";
            Broken::Connect(format!("failed to reach the server {authority}: {why}; {fix}"))
        };
        let connected = async {
            let tcp = TcpStream::connect((host.as_str(), *port)).await.map_err(|error| error.to_string())?;
            if !is_https {
                return Ok(Box::new(tcp) as Box<dyn Line>);
            }
            let encrypted = self.roots.connect(host, tcp).await.map_err(|error| error.to_string())?;
            Ok(Box::new(encrypted) as Box<dyn Line>)
        };
        match timeout(CONNECT, connected).await {
            Ok(ended) => ended.map_err(failed),
            Err(_) => Err(failed(format!("no answer within {} s", CONNECT.as_secs()))),
        }
    }

    fn request(&self, sent: &Arc<AtomicU64>) -> Result<Request<PackedBody>, hyper::http::Error> {
        let asked = Arc::new(Notify::new());
        let wait = Arc::clone(&asked);
        let asked_for = async move {
            // Without an answer it is sent unasked.
            let _ = timeout(ASKED, wait.notified()).await;
        };
        let body = PackedBody::new(Arc::clone(&self.packed), asked_for, Arc::clone(sent));
        let mut request = Request::put(format!("/api/v1/archives/{}", self.digest))
            .header(HOST, &self.server.authority)
            .header(CONTENT_TYPE, "application/x-tar")
            .header(EXPECT, "100-continue");
        if let Some(token) = self.token {
            request = request.header(AUTHORIZATION, format!("Bearer {token}"));
        }
        let mut request = request.body(body)?;
        hyper::ext::on_informational(&mut request, move |answer| {
            if answer.status() == StatusCode::CONTINUE {
                asked.notify_one();
            }
        });
        Ok(request)
    }

    fn broke(&self, error: &hyper::Error) -> String {
        let words = with_causes(error);
        format!("the connection to the server broke ({words}); check the line and push again, nothing is sent twice")
    }
}

/// Looks whether an upload goes on, and reports a long one.
struct Watch<'a> {
    upload: &'a Upload<'a>,
    sent: &'a AtomicU64,
    before: u64,
    moved: Instant,
    reported: Instant,
}

impl<'a> Watch<'a> {
    fn of(upload: &'a Upload<'a>, sent: &'a AtomicU64) -> Self {
        let now = Instant::now();
        Self { upload, sent, before: 0, moved: now, reported: now }
    }

    fn look(&mut self) -> Result<(), Broken> {
        let (now, sent, bytes) = (Instant::now(), self.sent.load(Ordering::Relaxed), self.upload.bytes);
        if sent != self.before {
            (self.before, self.moved) = (sent, now);
        }
        let still = now - self.moved;
        if still > if sent < bytes { STALLED } else { ANSWER } {
            let text = format!("no progress from the server for {} s", still.as_secs());
            return Err(Broken::Line(text));
        }
        if now - self.reported >= PROGRESS {
            self.reported = now;
            let name = &self.upload.name;
            if sent < bytes {
                let percent = sent as f64 / bytes as f64 * 100.0;
                complain!("tardy: {name}: sent {} of {} MB ({percent:.0} %)", sent / 1_000_000, bytes / 1_000_000);
            } else {
                complain!("tardy: {name}: sent, the server adds it");
            }
        }
        Ok(())
    }
}

async fn answered(answer: Response<Incoming>) -> hyper::Result<Answer> {
    let status = answer.status();
    let retry_after = answer.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
    let (mut incoming, mut body) = (answer.into_body(), Vec::new());
    while let Some(frame) = poll_fn(|context| Pin::new(&mut incoming).poll_frame(context)).await {
        let Ok(piece) = frame?.into_data() else { continue };
        body.extend_from_slice(&piece);
        if body.len() > ANSWER_BYTES_MAX {
            break;
        }
    }
    Ok(Answer { status, retry_after, body })
}
