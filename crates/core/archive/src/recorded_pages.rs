//! Trace pages as the kernel recorded them, a file of the archive for each CPU, and what they need to be read.

use crate::directory::{ArchiveDirectory, Refusal, read_inside};
use crate::layout::FileKind;
use crate::layout::file_path;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read};
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

/// A file in pieces of one length; the last one may be shorter. A read that fails ends it.
#[derive(Debug)]
pub struct Pieces {
    file: File,
    left: u64,
    piece_bytes: usize,
}

impl Pieces {
    /// Opens a file of an archive, of which at most `left` bytes may be read; reduces them.
    ///
    /// # Errors
    /// As [`ArchiveDirectory::read`].
    pub fn open(archive: &ArchiveDirectory, name: &Path, piece_bytes: usize, left: &mut u64) -> io::Result<Self> {
        let file = archive.file(name)?;
        let bytes = file.metadata()?.len();
        *left = left.checked_sub(bytes).ok_or(Refusal::TooLarge { bytes, bytes_max: *left })?;
        Ok(Self { file, left: bytes, piece_bytes })
    }
}

impl Iterator for Pieces {
    type Item = Vec<u8>;

    fn next(&mut self) -> Option<Vec<u8>> {
        let length = self.left.min(self.piece_bytes as u64);
        let mut piece = Vec::new();
        let read = (&mut self.file).take(length).read_to_end(&mut piece).unwrap_or(0);
        self.left -= read as u64;
        (read > 0).then_some(piece)
    }
}

impl RecordedPages {
    /// The files of the pages of each CPU, to be read in pieces.
    ///
    /// # Errors
    /// If they cannot be opened, or are more than [`PAGES_BYTES_MAX`] together.
    pub fn open(
        &self,
        archive: &ArchiveDirectory,
        piece_bytes: usize,
        kind: fn(u32) -> FileKind,
    ) -> io::Result<Vec<(u32, Pieces)>> {
        let mut left = PAGES_BYTES_MAX;
        // A description from elsewhere may name a CPU more than once.
        let cpus = self.cpus.iter().copied().collect::<BTreeSet<_>>().into_iter();
        cpus.map(|cpu| Ok((cpu, Pieces::open(archive, &file_path(kind(cpu)), piece_bytes, &mut left)?))).collect()
    }

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
