//! The received bytes of a run until it is complete: after a lost connection, their number is where to resume.

use archive::directory::ArchiveDirectory;
use archive::write_error::WriteError;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// File name in the archive. An archive with this file is incomplete and can be resumed.
pub const RECEIVED_FILE: &str = "line.partial";
/// Interval in bytes at which the target learns that data is stored.
const SAFE_EVERY_BYTES: u64 = 1 << 20;

/// The file, open for appending.
#[derive(Debug)]
pub struct Received {
    path: PathBuf,
    inside: ArchiveDirectory,
    file: File,
    bytes: u64,
    safe: u64,
}

impl Received {
    /// Creates an empty file in an archive's directory.
    ///
    /// # Errors
    /// [`WriteError::Io`].
    pub fn create(directory: &Path) -> Result<Self, WriteError> {
        Self::open(directory, true).map_err(|source| WriteError::Io { path: directory.join(RECEIVED_FILE), source })
    }

    /// Opens the file of an incomplete archive, and returns its contents.
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
            // Bytes that are safe have a name that is safe.
            inside.sync_names()?;
        }
        let file = inside.file_to_append(RECEIVED_FILE)?;
        Ok(Self { path: directory.join(RECEIVED_FILE), inside, file, bytes: 0, safe: 0 })
    }

    /// Number of bytes so far.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Appends received bytes. From time to time, returns the number of bytes that are synced to disk.
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

    /// Removes the file once everything is in the archive.
    pub fn remove(self) {
        let _ = self.inside.remove(RECEIVED_FILE);
    }
}
