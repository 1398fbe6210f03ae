//! Paths of the repository.

use std::path::{Path, PathBuf};

/// A path below the root.
pub fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}
