//! Why a request was refused: a code, the HTTP status, a sentence and the fix, as RFC 9457 prints them.

use crate::access::Role;
use archive::problem::{Problem, ProblemKind};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use store::StoreError;
use thiserror::Error;
use utoipa::ToSchema;
use words::printable::printable;

/// Most characters of a client's text that an answer repeats.
const REPEATED_MAX: usize = 200;

/// Why a request was refused.
#[derive(Debug, Clone, PartialEq, Eq, Error, Problem)]
pub enum Refusal {
    #[error("there is nothing at {}", shown(.0))]
    #[problem(
        code = "server.no-such-page",
        meaning = "`tardy lab serve` has no page or API at this address.",
        fix = "start at /, or read /api/v1/openapi.json"
    )]
    NoSuchPage(String),
    #[error("there is no run {}", shown(.0))]
    #[problem(
        code = "server.no-such-run",
        meaning = "The index has no run of this id.",
        fix = "search the run on the page of its board; `tardy lab store ingest` adds archives"
    )]
    NoSuchRun(String),
    #[error("there is no experiment {}", shown(.0))]
    #[problem(
        code = "server.no-such-experiment",
        meaning = "The directory of the server has no experiment of this name, or it was moved.",
        fix = "choose one on the page Experiments; `tardy experiment` makes one"
    )]
    NoSuchExperiment(String),
    #[error("there is no board {}", shown(.0))]
    #[problem(
        code = "server.no-such-board",
        meaning = "The index has no run of a board of this name.",
        fix = "choose a board on the first page; `tardy lab store ingest` adds archives"
    )]
    NoSuchBoard(String),
    #[error("there is no change {}", shown(.0))]
    #[problem(
        code = "server.no-such-change",
        meaning = "The index has no change of a figure of this name.",
        fix = "`tardy lab store changes` and the page of the board list them"
    )]
    NoSuchChange(String),
    #[error("there is no job {}", shown(.0))]
    #[problem(
        code = "server.no-such-job",
        meaning = "The queue has no job of this name.",
        fix = "GET /api/v1/jobs, the page /queue and `tardy lab queue list` list the newest ones"
    )]
    NoSuchJob(String),
    #[error("the job is {state}")]
    #[problem(
        code = "server.job-not-queued",
        meaning = "Only a job that waits can be cancelled.",
        fix = "let it end, or end its worker with Ctrl-C"
    )]
    JobNotQueued { state: &'static str },
    #[error("the plan cannot be run: {}", shown(.0))]
    #[problem(
        code = "server.plan-refused",
        meaning = "A plan to queue has mistakes.",
        fix = "correct what the message names; `tardy lab plan check PLAN` shows every wrong line"
    )]
    PlanRefused(String),
    #[error("no trigger of {} knows a kernel between the two runs", shown(.0))]
    #[problem(
        code = "server.nothing-between",
        meaning = "Backfill needs a trigger of the board whose plan contains {kernel} and whose list has kernels \
                   between the two.",
        fix = "`tardy lab queue trigger add NAME PLAN --board BOARD --kernel OLDEST ... --kernel NEWEST`"
    )]
    NothingBetween(String),
    #[error("the message is not signed with the secret of a webhook")]
    #[problem(
        code = "server.not-signed",
        meaning = "A webhook of that name does not exist, or the message does not prove that its sender knows the \
                   secret.",
        fix = "set the secret that `tardy lab queue trigger add --webhook` printed; without it, remove the trigger and \
               add it again"
    )]
    NotSigned,
    #[error("no run {} is in progress", shown(.0))]
    #[problem(
        code = "server.not-running",
        meaning = "The run has ended, or never existed.",
        fix = "its report is on the page of its board; /live lists the runs in progress"
    )]
    NotRunning(String),
    #[error("too many open event streams")]
    #[problem(
        code = "server.streams-busy",
        meaning = "As many pages follow runs in progress as the server serves at a time.",
        fix = "close one of them, or load the page without its script"
    )]
    StreamsBusy { wait_s: u64 },
    #[error("expected {expected}; got {}", shown(.found))]
    #[problem(
        code = "server.parameter",
        meaning = "Part of the address of a request cannot be read.",
        fix = "give {expected}",
        documented_fix = "give what the message asks for; /api/v1/openapi.json describes every parameter"
    )]
    Parameter { found: String, expected: &'static str },
    #[error("the index does not answer")]
    #[problem(
        code = "server.index-unavailable",
        meaning = "The database of the index did not answer a question of a page.",
        fix = "check that the database runs and its disk has room; `tardy lab store rebuild` makes a damaged index again"
    )]
    Index,
    #[error("the body of the request is not what this address expects: {}", shown(.0))]
    #[problem(
        code = "server.body",
        meaning = "The body of a request is not the JSON that its address expects.",
        fix = "send what /api/v1/openapi.json describes"
    )]
    Body(String),
    #[error("{0} is not possible here")]
    #[problem(
        code = "server.method",
        meaning = "The address exists, but not for this method.",
        fix = "use a method that /api/v1/openapi.json lists for it"
    )]
    Method(String),
    #[error("this server does not answer for the host {}", shown(.0))]
    #[problem(
        code = "server.host-not-served",
        meaning = "The name in the address is not one of this server: a foreign site can point its own name here.",
        fix = "open the address that `tardy lab serve` printed, or start it with --host NAME"
    )]
    Host(String),
    #[error("the request names more than one host")]
    #[problem(
        code = "server.host-ambiguous",
        meaning = "The request has two Host headers, or a Host header beside an address with another host.",
        fix = "send one Host header, with the host of the address"
    )]
    HostAmbiguous,
    #[error("another site sent this request")]
    #[problem(
        code = "server.other-site",
        meaning = "A page of another site tried to change something here.",
        fix = "do it on a page of this server, or with a program and a token"
    )]
    OtherSite,
    #[error("a token is required")]
    #[problem(
        code = "server.token-missing",
        meaning = "The server has tokens, and the request carries none.",
        fix = "log in at /login, or send `Authorization: Bearer TOKEN`; `tardy lab serve --add-token` makes tokens"
    )]
    TokenMissing,
    #[error("the token is not known")]
    #[problem(
        code = "server.token-unknown",
        meaning = "The token of a request is not one of this server.",
        fix = "check that it was copied in full; `tardy lab serve --add-token` makes another one"
    )]
    TokenUnknown,
    #[error("identity header from an address other than the proxy")]
    #[problem(
        code = "server.not-the-proxy",
        meaning = "A request carries the headers of a login, and does not come from the configured proxy.",
        fix = "log in through the proxy, or send a token and no such header; `tardy lab serve --proxy` sets its address"
    )]
    NotTheProxy,
    #[error("the headers of the proxy do not name one user")]
    #[problem(
        code = "server.proxy-headers",
        meaning = "The header with the user is missing, empty, there twice, or not plain text.",
        fix = "have the proxy remove these headers from what clients send, and set each once"
    )]
    ProxyHeaders,
    #[error("no group of this user has a role")]
    #[problem(
        code = "server.no-role",
        meaning = "The proxy knows the user, and no group of the user has a role here.",
        fix = "start the server with --proxy-role GROUP=ROLE for a group of the user"
    )]
    NoRole,
    #[error("the token allows {has}; this needs {needed}")]
    #[problem(
        code = "server.role-too-low",
        meaning = "The role of a token does not include what was requested: read, run, admin.",
        fix = "use a token with the role {needed}",
        documented_fix = "use a token with the role that the message names"
    )]
    Role { has: Role, needed: Role },
    #[error("the body of the request has more than {bytes_max} bytes")]
    #[problem(
        code = "server.too-large",
        meaning = "The body of a request exceeds the limit.",
        fix = "send at most {bytes_max} bytes",
        documented_fix = "send less at a time"
    )]
    TooLarge { bytes_max: u64 },
    #[error("the upload cannot be read: {}", shown(.0))]
    #[problem(
        code = "server.upload-malformed",
        meaning = "The body of an upload is not an archive as one stream: it was cut off, or contains what no archive \
                   has.",
        fix = "upload with `tardy lab store push`, or write the recorded files with `tar --format=ustar --sort=name`"
    )]
    UploadMalformed(String),
    #[error("the archive is not taken: {}", shown(.0))]
    #[problem(
        code = "server.upload-refused",
        meaning = "The upload is a stream of files, but not the finished archive that its address names.",
        fix = "upload with `tardy lab store push` from where the run was recorded, after it has ended"
    )]
    UploadRefused(String),
    #[error("the archive is too large: {}", shown(.0))]
    #[problem(
        code = "server.upload-too-large",
        meaning = "An archive has more bytes or files than the server takes, or than a run with its settings can record.",
        fix = "copy the archive into the directory of the server, where it is added by itself"
    )]
    UploadTooLarge(String),
    #[error("the upload {what} {limit_s} s")]
    #[problem(
        code = "server.upload-too-slow",
        meaning = "An upload sent nothing for a while, or took longer than the server waits.",
        fix = "check the connection to the server, then upload again; nothing is sent twice"
    )]
    UploadTooSlow { what: &'static str, limit_s: u64 },
    #[error("too many concurrent uploads")]
    #[problem(
        code = "server.uploads-busy",
        meaning = "The number of concurrent uploads has reached the server's limit.",
        fix = "wait as long as `Retry-After` says; `tardy lab store push` does"
    )]
    UploadsBusy { wait_s: u64 },
    #[error("the archive cannot be stored")]
    #[problem(
        code = "server.archive-not-stored",
        meaning = "The directory of archives could not be written to.",
        fix = "check that its disk has room and that the server may write to it, then upload again"
    )]
    NotStored,
    #[error("requests from this address are too many")]
    #[problem(
        code = "server.too-many-requests",
        meaning = "An address sends more requests, or more wrong tokens, than the limit.",
        fix = "wait {wait_s} s, then send fewer requests at a time",
        documented_fix = "wait as long as `Retry-After` says"
    )]
    TooMany { wait_s: u64 },
    #[error("the request took longer than {limit_s} s")]
    #[problem(
        code = "server.too-slow",
        meaning = "A request was not answered in time: the client sent slowly, or the server is busy.",
        fix = "try again; if it repeats, look at the load of the server"
    )]
    TooSlow { limit_s: u64 },
    #[error("the archive of this run cannot be read: {}", shown(.0))]
    #[problem(
        code = "server.archive-unreadable",
        meaning = "The index knows the run, but its archive cannot be opened.",
        fix = "check the directory of archives; `tardy lab store rebuild` makes the index again"
    )]
    Unreadable(String),
    #[error("this browser was not let in")]
    #[problem(
        code = "server.not-entered",
        meaning = "`tardy desk` shows itself to a browser that opened one of its links, each of which works once.",
        fix = "open the newest link that `tardy desk` printed, or start it again"
    )]
    NotEntered,
    #[error("the measurement cannot be shared: {}", shown(.0))]
    #[problem(
        code = "server.not-shared",
        meaning = "`tardy desk` could not make its measurement anonymous and sign it.",
        fix = "keep the archive, and publish it with `tardy lab publish` after the end"
    )]
    NotShared(String),
    #[error("a defect of the server")]
    #[problem(
        code = "server.defect",
        meaning = "A panic of the server, caught; other requests are not affected.",
        fix = "report it with what standard error of `tardy lab serve` says"
    )]
    Defect,
}

fn shown(text: &str) -> String {
    let kept: String = text.chars().take(REPEATED_MAX).collect();
    let more = if kept.len() < text.len() { "..." } else { "" };
    format!("{}{more}", printable(&kept))
}

impl Refusal {
    pub fn status(&self) -> StatusCode {
        match self {
            Self::NoSuchPage(_) | Self::NoSuchRun(_) | Self::NoSuchBoard(_) | Self::NoSuchChange(_) => {
                StatusCode::NOT_FOUND
            }
            Self::NoSuchJob(_) | Self::NoSuchExperiment(_) | Self::NotRunning(_) => StatusCode::NOT_FOUND,
            Self::JobNotQueued { .. } | Self::NothingBetween(_) => StatusCode::CONFLICT,
            Self::PlanRefused(_) => StatusCode::UNPROCESSABLE_ENTITY,
            Self::NotSigned => StatusCode::UNAUTHORIZED,
            Self::Parameter { .. } | Self::HostAmbiguous => StatusCode::BAD_REQUEST,
            Self::Index => StatusCode::SERVICE_UNAVAILABLE,
            Self::Body(_) | Self::UploadRefused(_) => StatusCode::UNPROCESSABLE_ENTITY,
            Self::Method(_) => StatusCode::METHOD_NOT_ALLOWED,
            Self::Host(_) => StatusCode::MISDIRECTED_REQUEST,
            Self::OtherSite | Self::Role { .. } | Self::NotTheProxy | Self::NoRole => StatusCode::FORBIDDEN,
            Self::TokenMissing | Self::TokenUnknown | Self::NotEntered => StatusCode::UNAUTHORIZED,
            Self::TooLarge { .. } | Self::UploadTooLarge(_) => StatusCode::PAYLOAD_TOO_LARGE,
            Self::UploadMalformed(_) | Self::ProxyHeaders => StatusCode::BAD_REQUEST,
            Self::UploadTooSlow { .. } => StatusCode::REQUEST_TIMEOUT,
            Self::UploadsBusy { .. } | Self::StreamsBusy { .. } | Self::NotStored => StatusCode::SERVICE_UNAVAILABLE,
            Self::TooMany { .. } => StatusCode::TOO_MANY_REQUESTS,
            Self::TooSlow { .. } | Self::NotShared(_) => StatusCode::SERVICE_UNAVAILABLE,
            Self::Unreadable(_) | Self::Defect => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    /// The index failed. Readers are not shown why: its text may name a host or a user.
    pub(crate) fn of_store(_: StoreError) -> Self {
        Self::Index
    }

    /// Why an archive was not taken.
    pub(crate) fn of_upload(error: StoreError) -> Self {
        use archive::packed::PackedError;
        match error {
            StoreError::Refused(store::Refused::Address(found)) => {
                Self::Parameter { found, expected: "the SHA-256 of an archive, 64 digits from 0-9 and a-f" }
            }
            StoreError::Refused(store::Refused::Stream(
                limit @ (PackedError::TooLarge { .. } | PackedError::TooMany { .. }),
            )) => Self::UploadTooLarge(limit.to_string()),
            StoreError::Refused(more @ store::Refused::MoreThanItsRun { .. }) => Self::UploadTooLarge(more.to_string()),
            StoreError::Refused(refused @ (store::Refused::Stream(_) | store::Refused::NotRecorded(_))) => {
                Self::UploadMalformed(refused.to_string())
            }
            StoreError::Refused(refused) => Self::UploadRefused(refused.to_string()),
            StoreError::Io { .. } | StoreError::DiskFull { .. } => Self::NotStored,
            other => Self::of_store(other),
        }
    }

    /// Why a body was not taken.
    pub(crate) fn of_body(bytes_max: usize, status: StatusCode, text: String) -> Self {
        match status {
            StatusCode::PAYLOAD_TOO_LARGE => Self::TooLarge { bytes_max: bytes_max as u64 },
            _ => Self::Body(text),
        }
    }

    /// The document of this refusal.
    pub fn document(&self) -> ProblemDocument {
        ProblemDocument {
            kind: format!("urn:tardy:problem:{}", self.code()),
            title: self.status().canonical_reason().unwrap_or_default().to_owned(),
            status: self.status().as_u16(),
            detail: self.to_string(),
            code: self.code().to_string(),
            fix: self.fix(),
        }
    }
}

/// An error, as RFC 9457 has it, with two more members: a stable code and the fix.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = Problem)]
pub struct ProblemDocument {
    /// Identifies the kind of problem, such as `urn:tardy:problem:server.no-such-run`.
    #[serde(rename = "type")]
    pub kind: String,
    pub title: String,
    pub status: u16,
    /// The error of this request.
    pub detail: String,
    /// Stays the same from version to version.
    pub code: String,
    /// The fix.
    pub fix: String,
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let body = serde_json::to_vec(&self.document()).unwrap_or_default();
        let mut response = (self.status(), [(header::CONTENT_TYPE, "application/problem+json")], body).into_response();
        match &self {
            Self::TooMany { wait_s } | Self::UploadsBusy { wait_s } | Self::StreamsBusy { wait_s } => {
                response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(*wait_s));
            }
            Self::TokenMissing | Self::TokenUnknown => {
                response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            }
            _ => {}
        }
        // A page for people is made of it further out, where the request is known.
        response.extensions_mut().insert(self);
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_repeats_little_of_a_hostile_text_and_nothing_that_controls() {
        let hostile = format!("\u{202e}\x1b[31m{}", "a\u{301}".repeat(5000));
        let detail = Refusal::NoSuchBoard(hostile).document().detail;
        assert!(detail.len() < 1000 && !detail.contains(['\u{202e}', '\x1b']), "{detail}");
    }
}
