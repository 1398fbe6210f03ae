//! Requests over HTTP/1.1, with TLS where the address asks for it. One connection each: messages are rare.

use crate::channel::Failure;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::header::{HeaderMap, HeaderValue};
use hyper::{Request, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use std::error::Error;
use std::time::Duration;
use std::{fmt, io};
use thiserror::Error;
use tls::{Roots, TlsError};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// Longest time of a request with its answer.
const REQUEST_MAX: Duration = Duration::from_secs(20);
/// A list of a hundred issues has less.
const ANSWER_BYTES_MAX: usize = 16 << 20;
const AGENT: &str = concat!("tardy/", env!("CARGO_PKG_VERSION"));

/// An address of a receiver. Only its host is ever shown: the path of a webhook may be its secret.
#[derive(Clone, PartialEq, Eq)]
pub struct Address {
    is_https: bool,
    host: String,
    port: u16,
    /// Without a slash at the end.
    path: String,
}

impl fmt::Debug for Address {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Address({})", self.host)
    }
}

/// Why a text is not an address. It does not repeat the text, which may be a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum AddressError {
    #[error("an address is like https://host.example/path")]
    NotAnAddress,
    #[error("an address has no user and password; name a secret instead")]
    HasPassword,
}

impl Address {
    /// Reads `https://HOST[:PORT][/PATH]`.
    ///
    /// # Errors
    /// [`AddressError`].
    pub fn parse(text: &str) -> Result<Self, AddressError> {
        let wrong = AddressError::NotAnAddress;
        let uri: Uri = text.trim().parse().map_err(|_| wrong)?;
        let is_https = match uri.scheme_str() {
            Some("https") => true,
            Some("http") => false,
            _ => return Err(wrong),
        };
        let authority = uri.authority().ok_or(wrong)?;
        if authority.as_str().contains('@') {
            return Err(AddressError::HasPassword);
        }
        let host = uri.host().filter(|host| !host.is_empty()).ok_or(wrong)?.to_owned();
        let port = uri.port_u16().unwrap_or(if is_https { 443 } else { 80 });
        let path = uri.path_and_query().map_or("", |path| path.as_str()).trim_end_matches('/').to_owned();
        Ok(Self { is_https, host, port, path })
    }

    /// The host, which may be shown.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Whether a secret that is sent there can be read on the way.
    pub fn is_open(&self) -> bool {
        !self.is_https && !tls::is_this_host(&self.host)
    }
}

/// A request without an answer.
#[derive(Debug, Error)]
enum RequestError {
    #[error("no answer within {} s", REQUEST_MAX.as_secs())]
    Silent,
    #[error(transparent)]
    Connection(#[from] io::Error),
    #[error(transparent)]
    Tls(#[from] TlsError),
    #[error("the header {0} cannot be sent")]
    Header(String),
    #[error("the request cannot be sent")]
    Request,
    #[error(transparent)]
    Http(#[from] hyper::Error),
    #[error(transparent)]
    Answer(Box<dyn Error + Send + Sync>),
}

/// The body of a request.
pub enum Body {
    Nothing,
    Json(String),
}

/// Sends requests.
#[derive(Debug, Clone)]
pub struct Client {
    roots: Roots,
}

/// An answer, at most [`ANSWER_BYTES_MAX`] long.
#[derive(Debug)]
pub struct Answer {
    host: String,
    status: StatusCode,
    pause: Option<Duration>,
    pub text: String,
}

impl Answer {
    /// The text of an answer that says success.
    ///
    /// # Errors
    /// The status of another one. What the receiver wrote beside it is not repeated: it may contain what was sent.
    pub fn succeeded(self) -> Result<String, Failure> {
        if self.status.is_success() {
            return Ok(self.text);
        }
        let hint = match self.status.as_u16() {
            401 | 403 => "; the token may be wrong, or lack a permission",
            404 => "; the address may be wrong, or the token may not see it",
            300..=399 => "; it is at another address",
            _ => "",
        };
        let is_final = matches!(self.status.as_u16(), 400 | 413 | 415 | 422);
        Err(Failure { because: format!("{} answered {}{hint}", self.host, self.status), pause: self.pause, is_final })
    }
}

impl Client {
    pub fn new(roots: &Roots) -> Self {
        Self { roots: roots.clone() }
    }

    /// Sends a request below an address, and waits for the whole answer.
    ///
    /// # Errors
    /// If none arrives in time.
    pub async fn send(
        &self,
        method: &str,
        address: &Address,
        below: &str,
        headers: &[(&str, String)],
        body: Body,
    ) -> Result<Answer, Failure> {
        let host = address.host();
        let sent = timeout(REQUEST_MAX, self.sent(method, address, below, headers, body)).await;
        sent.unwrap_or(Err(RequestError::Silent))
            .map_err(|because| Failure::of(format!("failed to reach {host}: {because}")))
    }

    async fn sent(
        &self,
        method: &str,
        address: &Address,
        below: &str,
        headers: &[(&str, String)],
        body: Body,
    ) -> Result<Answer, RequestError> {
        let host = address.host.trim_matches(['[', ']']);
        let stream = TcpStream::connect((host, address.port)).await?;
        let path = format!("{}{below}", address.path);
        let default_port = if address.is_https { 443 } else { 80 };
        let named = if address.port == default_port {
            address.host.clone()
        } else {
            format!("{}:{}", address.host, address.port)
        };
        let mut request = Request::builder().method(method).uri(if path.is_empty() { "/" } else { &path });
        request = request.header("host", named).header("user-agent", AGENT).header("connection", "close");
        for (name, value) in headers {
            let mut value = HeaderValue::from_str(value).map_err(|_| RequestError::Header((*name).to_owned()))?;
            value.set_sensitive(true);
            request = request.header(*name, value);
        }
        let bytes = match body {
            Body::Nothing => Bytes::new(),
            Body::Json(text) => {
                request = request.header("content-type", "application/json");
                Bytes::from(text)
            }
        };
        let request = request.body(Full::new(bytes)).map_err(|_| RequestError::Request)?;
        if !address.is_https {
            return exchanged(stream, request, &address.host).await;
        }
        let stream = self.roots.connect(host, stream).await?;
        exchanged(stream, request, &address.host).await
    }
}

async fn exchanged<S>(stream: S, request: Request<Full<Bytes>>, host: &str) -> Result<Answer, RequestError>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    let connection = tokio::spawn(connection);
    let answer = sender.send_request(request).await?;
    let (head, body) = answer.into_parts();
    let body = Limited::new(body, ANSWER_BYTES_MAX).collect().await.map_err(RequestError::Answer)?;
    connection.abort();
    let text = String::from_utf8_lossy(&body.to_bytes()).into_owned();
    Ok(Answer { host: host.to_owned(), status: head.status, pause: asked_pause(&head.headers), text })
}

/// `Retry-After` in seconds; a date is not understood, and the usual pause is as good.
fn asked_pause(headers: &HeaderMap) -> Option<Duration> {
    headers.get("retry-after")?.to_str().ok()?.trim().parse().ok().map(Duration::from_secs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_shows_its_host_only_and_knows_where_secrets_are_readable() {
        let hook = Address::parse("https://chat.example/hooks/s3cret/").unwrap();
        assert_eq!((hook.host(), hook.port, hook.path.as_str()), ("chat.example", 443, "/hooks/s3cret"));
        assert_eq!(format!("{hook:?}"), "Address(chat.example)");
        for (text, open) in
            [("http://x", true), ("https://x", false), ("http://127.0.0.1:80/", false), ("http://[::1]:9", false)]
        {
            assert_eq!(Address::parse(text).unwrap().is_open(), open, "{text}");
        }
        for text in ["", "x", "ftp://x", "https://", "https://me:s3cret@x/", "/path"] {
            let expected = if text.contains('@') { AddressError::HasPassword } else { AddressError::NotAnAddress };
            assert_eq!(Address::parse(text), Err(expected), "{text}");
        }
    }
}
