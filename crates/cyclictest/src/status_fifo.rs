//! The named pipe of `-F`: a program that opens it for reading gets the present state, then the end of the file.

use super::output_file::OutputError;
use rustix::fs::{CWD, FileType, Mode, OFlags, mknodat, open};
use std::io::Write;

/// The pipe, as long as the value lives.
#[derive(Debug)]
pub struct StatusFifo {
    path: String,
}

impl StatusFifo {
    /// # Errors
    /// A path that exists, or that cannot be made.
    pub fn make(path: &str) -> Result<Self, OutputError> {
        mknodat(CWD, path, FileType::Fifo, Mode::from_raw_mode(0o644), 0)
            .map_err(|error| OutputError::Fifo { path: path.into(), source: error.into() })?;
        Ok(Self { path: path.into() })
    }

    /// Answers a waiting reader. A reader that is slow gets what fits; the test does not wait for it.
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
