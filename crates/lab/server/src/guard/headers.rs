//! The headers of every answer: what a browser may load, keep and reveal.

use super::Asked;
use axum::http::{HeaderName, HeaderValue, header};
use axum::response::Response;

/// Nothing from other hosts, no scripts or styles in the markup, no frames around it.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
                      form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// A picture may be embedded anywhere, and loads nothing.
const POLICY_OF_PICTURES: &str = "default-src 'none'; style-src 'unsafe-inline'; sandbox";

const ALWAYS: [(HeaderName, &str); 4] = [
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("permissions-policy"), "camera=(), geolocation=(), microphone=(), payment=(), usb=()"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
];

/// Adds them; an answer that has its own policy or its own caching keeps it.
pub fn protected(mut answer: Response, asked: &Asked) -> Response {
    let picture = asked.path.ends_with(".svg");
    let headers = answer.headers_mut();
    for (name, value) in ALWAYS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    let policy = if picture { POLICY_OF_PICTURES } else { POLICY };
    headers.entry(header::CONTENT_SECURITY_POLICY).or_insert(HeaderValue::from_static(policy));
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    if !picture {
        headers.insert(header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
        let name = HeaderName::from_static("cross-origin-resource-policy");
        headers.insert(name, HeaderValue::from_static("same-origin"));
    }
    answer
}
