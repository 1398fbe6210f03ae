//! The script and the styles that `ui/` builds. Their address contains their hash, so browsers keep them for good.

use crate::problem::Refusal;
use axum::extract::Path;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use sha2::{Digest, Sha256};

/// A file of the pages.
pub struct Asset {
    name: &'static str,
    kind: &'static str,
    text: &'static str,
}

pub const SCRIPT: Asset = Asset {
    name: "lab.js",
    kind: "text/javascript; charset=utf-8",
    text: include_str!(concat!(env!("OUT_DIR"), "/lab.js")),
};

pub const STYLES: Asset = Asset {
    name: "lab.css",
    kind: "text/css; charset=utf-8",
    text: include_str!(concat!(env!("OUT_DIR"), "/lab.css")),
};

impl Asset {
    /// Where browsers get it; it changes with the contents.
    pub fn address(&self) -> String {
        let hash = Sha256::digest(self.text.as_bytes());
        let version: String = hash[..6].iter().map(|byte| format!("{byte:02x}")).collect();
        format!("/assets/{}?{version}", self.name)
    }
}

pub async fn asset(Path(name): Path<String>) -> Result<Response, Refusal> {
    let found = [SCRIPT, STYLES].into_iter().find(|asset| asset.name == name);
    let asset = found.ok_or_else(|| Refusal::NoSuchPage(format!("/assets/{name}")))?;
    let headers = [(header::CONTENT_TYPE, asset.kind), (header::CACHE_CONTROL, "public, max-age=31536000, immutable")];
    Ok((headers, asset.text).into_response())
}
