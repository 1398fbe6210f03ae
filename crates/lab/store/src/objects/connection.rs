//! HTTP to an object store, which is trusted as little as any other peer: it has limits of time and size.
//!
//! The body of an archive is streamed to a reader with limits of its own. Every other answer is a short document.

use http_body_util::{BodyExt, Limited};
use hyper::Method;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector as TcpConnector;
use hyper_util::rt::TokioExecutor;
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpRequestBody, HttpResponse, HttpResponseBody,
    HttpService,
};
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::time::Duration;
use tls::{ClientConfig, Roots, TlsError};
use tokio::time::timeout;
use words::causes::with_causes;

const CONNECT_MAX: Duration = Duration::from_secs(10);
/// Of sending one part, and of a whole answer that is no archive.
const CALL_MAX: Duration = Duration::from_secs(120);
/// A list of 1000 objects, the longest answer that is no archive, has a third of a megabyte.
const DOCUMENT_BYTES_MAX: usize = 16 << 20;

type Connector = HttpsConnector<TcpConnector>;

/// Makes the connections of an object store: encrypted ones to an `https` address, to which no request is ever sent otherwise.
#[derive(Debug)]
pub struct Connections {
    client: ClientConfig,
    is_https: bool,
}

impl Connections {
    /// # Errors
    /// Where the certificates of authorities are missing that an `https` endpoint needs.
    pub fn to(endpoint: &str) -> Result<Self, TlsError> {
        let is_https = endpoint.starts_with("https://");
        let client = if is_https { (*Roots::default().client()?).clone() } else { tls::trusting_nobody()? };
        Ok(Self { client, is_https })
    }
}

impl HttpConnector for Connections {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        let mut tcp = TcpConnector::new();
        tcp.set_connect_timeout(Some(CONNECT_MAX));
        tcp.set_nodelay(true);
        tcp.enforce_http(false);
        let builder = HttpsConnectorBuilder::new().with_tls_config(self.client.clone());
        let builder = if self.is_https { builder.https_only() } else { builder.https_or_http() };
        let connector = builder.enable_http1().wrap_connector(tcp);
        Ok(HttpClient::new(Calls(Client::builder(TokioExecutor::new()).build(connector))))
    }
}

#[derive(Debug)]
struct Calls(Client<Connector, HttpRequestBody>);

type Answer<'a> = Pin<Box<dyn Future<Output = Result<HttpResponse, HttpError>> + Send + 'a>>;

impl HttpService for Calls {
    fn call<'a, 'answer>(&'a self, request: HttpRequest) -> Answer<'answer>
    where
        'a: 'answer,
        Self: 'answer,
    {
        Box::pin(async move {
            match timeout(CALL_MAX, self.answer(request)).await {
                Ok(answer) => answer,
                Err(_) => {
                    let late = io::Error::new(io::ErrorKind::TimedOut, "the object store does not answer");
                    Err(HttpError::new(HttpErrorKind::Timeout, late))
                }
            }
        })
    }
}

impl Calls {
    async fn answer(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        // Lists have a query.
        let is_object = request.method() == Method::GET && request.uri().query().is_none();
        let answer = self.0.request(request).await.map_err(|error| {
            let kind = if error.is_connect() { HttpErrorKind::Connect } else { HttpErrorKind::Interrupted };
            HttpError::new(kind, io::Error::other(with_causes(&error)))
        })?;
        let (head, body) = answer.into_parts();
        if is_object && head.status.is_success() {
            let body = body.map_err(|error| HttpError::new(HttpErrorKind::Interrupted, error));
            return Ok(HttpResponse::from_parts(head, HttpResponseBody::new(body)));
        }
        let document = Limited::new(body, DOCUMENT_BYTES_MAX).collect().await;
        let document = document.map_err(|error| HttpError::new_boxed(HttpErrorKind::Interrupted, error))?.to_bytes();
        Ok(HttpResponse::from_parts(head, document.into()))
    }
}
