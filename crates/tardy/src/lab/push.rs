//! Archives to the server of a lab.

pub mod address;
mod answer;
mod body;
mod upload;

use address::ServerAddress;
use serde::Serialize;
use std::path::Path;
use std::sync::Arc;
use store::{Outcome, PackedArchive};
use tls::Roots;
pub use upload::Failure;
use upload::Upload;
use words::printable::printable;

/// An archive that the server has.
#[derive(Debug, Serialize)]
pub struct Pushed {
    pub archive: String,
    pub digest: String,
    pub outcome: Outcome,
    /// Length of the upload, also of one that was not needed.
    pub bytes: u64,
}

/// Sends an archive until the server has it. Sending it twice is safe.
///
/// # Errors
/// If the archive cannot be read, the server refuses it, or it cannot be reached.
pub async fn send(
    archive: &Path,
    server: &ServerAddress,
    token: Option<&str>,
    roots: &Roots,
) -> Result<Pushed, Failure> {
    let packed = PackedArchive::of(archive).map_err(|error| Failure::ThisArchive(error.to_string()))?;
    let packed = Arc::new(packed);
    let (digest, bytes) = (packed.digest(), packed.bytes());
    let name = printable(&archive.display().to_string());
    let outcome = Upload { name, packed, digest: digest.clone(), bytes, server, token, roots }.send().await?;
    Ok(Pushed { archive: archive.display().to_string(), digest, outcome, bytes })
}
