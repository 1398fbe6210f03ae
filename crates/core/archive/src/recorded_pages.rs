//! Trace pages as the kernel recorded them, a file of the archive for each CPU, and what they need to be read.

use crate::directory::read_inside;
use crate::layout::FileKind;
use crate::layout::file_path;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::io;
use std::path::Path;

/// Most bytes of the pages of all CPUs together.
pub const PAGES_BYTES_MAX: u64 = 256 << 20;

/// The layout of the pages and of the events in them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RecordedPages {
    pub big_endian: bool,
    pub page_bytes: u64,
    pub header_page: String,
    pub header_event: String,
    /// (system, text of its format) of each recorded event.
    pub event_formats: Vec<(String, String)>,
    /// CPUs with pages.
    pub cpus: Vec<u32>,
    /// Events that this kernel lacks, as `exceptions:page_fault_user`.
    pub events_absent: Vec<String>,
    /// Bytes of pages that came after the budget was used up.
    pub bytes_left_out: u64,
}

impl RecordedPages {
    /// The pages of each CPU, which `kind` says the file of.
    ///
    /// # Errors
    /// If they cannot be read, or are more than [`PAGES_BYTES_MAX`] together.
    pub fn read(&self, archive: &Path, kind: fn(u32) -> FileKind) -> io::Result<Vec<(u32, Vec<u8>)>> {
        let mut left = PAGES_BYTES_MAX;
        let mut pages = Vec::new();
        // A description from elsewhere may name a CPU more than once.
        for cpu in self.cpus.iter().copied().collect::<BTreeSet<_>>() {
            let bytes = read_inside(archive, file_path(kind(cpu)), left)?;
            left -= bytes.len() as u64;
            pages.push((cpu, bytes));
        }
        Ok(pages)
    }
}
