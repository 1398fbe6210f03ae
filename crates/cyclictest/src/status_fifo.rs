//! The named pipe of `-F`: whoever opens it for reading gets the present state, then the end of the file.

use rustix::fs::{CWD, FileType, Mode, OFlags, mknodat, open};
use std::io::Write;

/// The pipe, as long as the value lives.
#[derive(Debug)]
pub struct StatusFifo {
    path: String,
}

impl StatusFifo {
    /// # Errors
    /// A sentence with the fix.
    pub fn make(path: &str) -> Result<Self, String> {
        mknodat(CWD, path, FileType::Fifo, Mode::from_raw_mode(0o644), 0).map_err(|error| {
            format!("{path} cannot be made a pipe: {error}; name a path that does not exist yet (-F)")
        })?;
        Ok(Self { path: path.into() })
    }

    /// Answers a waiting reader. A reader that is slow gets what fits; nobody waits for it.
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
