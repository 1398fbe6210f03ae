//! The parts of a request on which the form of its answer depends.

use axum::extract::Request;
use axum::http::header;

/// The address that was asked for, and by which kind of program.
#[derive(Debug, Clone)]
pub struct Asked {
    pub path: String,
    /// The client is a browser that shows the answer as a page.
    pub page: bool,
}

impl Asked {
    pub fn of(request: &Request) -> Self {
        let path = request.uri().path().to_owned();
        let accept = request.headers().get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let page = accept.contains("text/html") && !path.starts_with("/api/");
        Self { path, page }
    }
}
