//! The contents of a publication: the file `publication.json` in it.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Version of the packed file and of [`Publication`].
pub const PUBLICATION_VERSION: u32 = 1;

/// The description that is signed with the runs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Publication {
    pub publication_version: u32,
    pub tool_version: String,
    /// Version of the rules by which it was made anonymous.
    pub rules_version: u32,
    /// Folders below `runs`.
    pub runs: Vec<String>,
    /// Number of values that were replaced or removed, by kind.
    pub changed: BTreeMap<String, u64>,
}
