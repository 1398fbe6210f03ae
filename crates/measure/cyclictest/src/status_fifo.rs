//! The named pipe of `-F`: a program that opens it for reading gets the current state, then the end of file.

use super::output_file::OutputError;
use rustix::fs::{CWD, FileType, Mode, OFlags, mknodat, open};
use std::io::Write;

/// The pipe; it exists as long as this value.
#[derive(Debug)]
pub struct StatusFifo {
    path: String,
}

impl StatusFifo {
    /// # Errors
    /// The path exists, or cannot be created.
    pub fn make(path: &str) -> Result<Self, OutputError> {
        mknodat(CWD, path, FileType::Fifo, Mode::from_raw_mode(0o644), 0)
            .map_err(|error| OutputError::Fifo { path: path.into(), source: error.into() })?;
        Ok(Self { path: path.into() })
    }

    /// Answers a waiting reader. A slow reader gets what fits; the test does not wait for it.
    pub fn serve(&self, text: impl FnOnce() -> String) {
        if let Ok(pipe) = open(&self.path, OFlags::WRONLY | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty()) {
            let _ = std::fs::File::from(pipe).write(text().as_bytes());
        }
    }
}

impl Drop for StatusFifo {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}
