//! What came through the line, byte for byte, until the run is complete: where to go on after a cut is its length.

use archive::directory::ArchiveDirectory;
use archive::write_error::WriteError;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// Name in the archive. An archive with such a file has a rest to fetch.
pub const RECEIVED_FILE: &str = "line.partial";
/// The target is told after so many bytes that they are safe.
const SAFE_EVERY_BYTES: u64 = 1 << 20;

/// The file, open at its end.
#[derive(Debug)]
pub struct Received {
    path: PathBuf,
    inside: ArchiveDirectory,
    file: File,
    bytes: u64,
    safe: u64,
}

impl Received {
    /// An empty one in the directory of an archive.
    ///
    /// # Errors
    /// [`WriteError::Io`].
    pub fn create(directory: &Path) -> Result<Self, WriteError> {
        Self::open(directory, true).map_err(|source| WriteError::Io { path: directory.join(RECEIVED_FILE), source })
    }

    /// That of an archive with a rest to fetch, and what is in it so far.
    ///
    /// # Errors
    /// [`WriteError::Io`].
    pub fn again(directory: &Path) -> Result<(Self, Vec<u8>), WriteError> {
        let open = || {
            let mut bytes = Vec::new();
            ArchiveDirectory::open(directory)?.file(RECEIVED_FILE)?.read_to_end(&mut bytes)?;
            let mut received = Self::open(directory, false)?;
            received.bytes = bytes.len() as u64;
            Ok((received, bytes))
        };
        open().map_err(|source| WriteError::Io { path: directory.join(RECEIVED_FILE), source })
    }

    fn open(directory: &Path, truncated: bool) -> io::Result<Self> {
        let inside = ArchiveDirectory::open(directory)?;
        if truncated {
            inside.create(RECEIVED_FILE)?;
        }
        let file = inside.file_to_append(RECEIVED_FILE)?;
        Ok(Self { path: directory.join(RECEIVED_FILE), inside, file, bytes: 0, safe: 0 })
    }

    /// Bytes so far.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Appends what came. Answers how many bytes are safe, now and then.
    ///
    /// # Errors
    /// [`WriteError::Io`].
    pub fn append(&mut self, bytes: &[u8]) -> Result<Option<u64>, WriteError> {
        let mut write = || {
            self.file.write_all(bytes)?;
            self.bytes += bytes.len() as u64;
            if self.bytes - self.safe < SAFE_EVERY_BYTES {
                return Ok(None);
            }
            self.file.sync_data()?;
            self.safe = self.bytes;
            Ok(Some(self.safe))
        };
        write().map_err(|source| WriteError::Io { path: self.path.clone(), source })
    }

    /// Everything is in the archive now.
    pub fn remove(self) {
        let _ = self.inside.remove(RECEIVED_FILE);
    }
}
