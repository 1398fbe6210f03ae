//! Takes archives of other hosts. Who sends, and whether the archive is there already, is known before a byte of it is read.

use crate::guard::Identity;
use crate::limits::Limits;
use crate::problem::{ProblemDocument, Refusal};
use crate::site::Site;
use archive::packed::PackedLimits;
use axum::Json;
use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{Extension, Path, Request, State};
use axum::http::{Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use std::future::poll_fn;
use std::io::{self, Read};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use store::{Ingested, Outcome};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// Addresses of archives begin with it.
const ARCHIVES: &str = "/api/v1/archives/";
/// Pieces of an upload that wait for the disk; each has at most the bytes that one read of the connection returns.
const PIECES: usize = 8;
/// When a client that found all places taken tries again.
const BUSY_WAIT_S: u64 = 5;

pub fn routes() -> OpenApiRouter<Arc<Site>> {
    OpenApiRouter::new().routes(routes!(upload))
}

/// Whether a request sends an archive, which has other limits than other bodies.
pub fn is_upload(request: &Request) -> bool {
    *request.method() == Method::PUT && request.uri().path().starts_with(ARCHIVES)
}

/// An archive that the lab has.
#[derive(Debug, Serialize, ToSchema)]
struct StoredArchive {
    /// SHA-256 in hexadecimal.
    digest: String,
    /// Id of its run.
    id: String,
    board: String,
}

impl StoredArchive {
    fn answer(ingested: Ingested) -> Response {
        let Ingested { digest, id, board, outcome, .. } = ingested;
        let status = if outcome == Outcome::Known { StatusCode::OK } else { StatusCode::CREATED };
        let address = format!("/api/v1/runs/{digest}");
        (status, [(header::LOCATION, address)], Json(Self { digest, id, board })).into_response()
    }
}

/// Add the archive of a run: its recorded files, in byte order of their names, as one tar file in the format ustar
#[utoipa::path(
    put, path = "/api/v1/archives/{digest}",
    params(("digest" = String, Path, description = "SHA-256 over a line `SHA256 BYTES NAME` for each recorded file, in byte order of the names")),
    request_body(content = Vec<u8>, content_type = "application/x-tar"),
    responses(
        (status = 201, body = StoredArchive, description = "It is stored and in the index"),
        (status = 200, body = StoredArchive, description = "It was there before; the body was not read"),
        (status = 400, body = ProblemDocument, description = "The address is not a SHA-256, or the body is not a stream of recorded files"),
        (status = 401, body = ProblemDocument, description = "The token is missing or not known"),
        (status = 403, body = ProblemDocument, description = "The token does not have the role run"),
        (status = 408, body = ProblemDocument, description = "It stood still, or took too long"),
        (status = 413, body = ProblemDocument, description = "It has too many bytes or files"),
        (status = 422, body = ProblemDocument, description = "The files are not those that the address names, or not of a run that has ended"),
        (status = 429, body = ProblemDocument, description = "Too many requests from this address"),
        (status = 503, body = ProblemDocument, description = "Too many uploads at a time, or the disk or the index failed")
    )
)]
async fn upload(
    State(site): State<Arc<Site>>,
    Extension(identity): Extension<Identity>,
    Path(digest): Path<String>,
    request: Request,
) -> Result<Response, Refusal> {
    if let Some(known) = site.store().acknowledged(&digest).await.map_err(Refusal::of_upload)? {
        return Ok(StoredArchive::answer(known));
    }
    let place = site.place_for_upload().ok_or(Refusal::UploadsBusy { wait_s: BUSY_WAIT_S })?;
    let limits = *site.limits();
    let (sender, receiver) = mpsc::channel(PIECES);
    let packed = PackedLimits { files_max: limits.upload_files_max, bytes_max: limits.upload_bytes_max };
    // A client that goes away after its last byte does not undo what it sent.
    let receiving = tokio::spawn(async move {
        let received = site.store().receive(&digest, Pieces::of(receiver), packed).await;
        drop(place);
        if let Ok(Ingested { outcome: Outcome::Added, board, .. }) = &received {
            // The archive is there and acknowledged, whether or not the log can be written.
            let _ = site.store().record_action(identity.who(), "upload", &digest, board).await;
        }
        received
    });
    let sent = forward(request.into_body(), sender, &limits).await;
    match (receiving.await.map_err(|_| Refusal::Defect)?, sent) {
        (Ok(ingested), _) => Ok(StoredArchive::answer(ingested)),
        (Err(_), Err(refusal)) => Err(refusal),
        (Err(error), Ok(())) => Err(Refusal::of_upload(error)),
    }
}

/// Hands a body on as it arrives, until it ends or nobody wants more of it.
async fn forward(mut body: Body, sender: mpsc::Sender<Bytes>, limits: &Limits) -> Result<(), Refusal> {
    let end = Instant::now() + limits.upload;
    let mut rest = limits.upload_bytes_max;
    while let Some(piece) = next_piece(&mut body, end, limits).await? {
        let Some(after) = rest.checked_sub(piece.len() as u64) else {
            return Err(Refusal::TooLarge { bytes_max: limits.upload_bytes_max });
        };
        rest = after;
        if sender.send(piece).await.is_err() {
            break;
        }
    }
    Ok(())
}

/// The next bytes of a body; `None` at its end.
async fn next_piece(body: &mut Body, end: Instant, limits: &Limits) -> Result<Option<Bytes>, Refusal> {
    let idle_until = Instant::now() + limits.upload_idle;
    let frame = poll_fn(|context| Pin::new(&mut *body).poll_frame(context));
    match timeout_at(end.min(idle_until), frame).await {
        // Trailers say nothing.
        Ok(Some(Ok(frame))) => Ok(Some(frame.into_data().unwrap_or_default())),
        Ok(Some(Err(error))) => Err(Refusal::UploadMalformed(error.to_string())),
        Ok(None) => Ok(None),
        Err(_) if end <= idle_until => Err(too_slow("took longer than", limits.upload)),
        Err(_) => Err(too_slow("sent nothing for", limits.upload_idle)),
    }
}

fn too_slow(what: &'static str, limit: Duration) -> Refusal {
    Refusal::UploadTooSlow { what, limit_s: limit.as_secs() }
}

/// The pieces of a body, for a thread that reads them. Ends when no more can come: a stream that is not whole is refused.
struct Pieces {
    receiver: mpsc::Receiver<Bytes>,
    piece: Bytes,
}

impl Pieces {
    fn of(receiver: mpsc::Receiver<Bytes>) -> Self {
        Self { receiver, piece: Bytes::new() }
    }
}

impl Read for Pieces {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.piece.is_empty() {
            match self.receiver.blocking_recv() {
                Some(piece) => self.piece = piece,
                None => return Ok(0),
            }
        }
        let count = self.piece.len().min(into.len());
        into[..count].copy_from_slice(&self.piece.split_to(count));
        Ok(count)
    }
}
