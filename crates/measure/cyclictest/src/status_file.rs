//! The file in /dev/shm that SIGUSR2 fills and get_cyclictest_snapshot(8) reads.

use super::output_file::{OutputError, OutputFile};
use std::path::{Path, PathBuf};

const DIRECTORY: &str = "/dev/shm";
const PREFIX: &str = "cyclictest";

/// The file; it exists as long as this value. On a machine without /dev/shm there is none.
#[derive(Debug)]
pub struct StatusFile {
    path: PathBuf,
}

impl StatusFile {
    /// Creates it empty.
    pub fn make() -> Self {
        let file = Self { path: Path::new(DIRECTORY).join(format!("{PREFIX}{}", std::process::id())) };
        let _ = file.fill("");
        file
    }

    /// Replaces its content.
    ///
    /// # Errors
    /// The error of the file system.
    pub fn fill(&self, text: &str) -> Result<(), OutputError> {
        OutputFile::replacing(self.path.clone())?.finish(text.as_bytes())
    }
}

impl Drop for StatusFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Running processes with such a file: other cyclictests, of this program or of rt-tests.
pub fn others() -> Vec<u32> {
    let names = std::fs::read_dir(DIRECTORY).into_iter().flatten().flatten().map(|entry| entry.file_name());
    let pids = names.filter_map(|name| name.to_str()?.strip_prefix(PREFIX)?.parse::<u32>().ok());
    // The number in a leftover file may belong to another kind of process now.
    let lives =
        |pid: &u32| std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name.trim_end() == PREFIX);
    pids.filter(|pid| *pid != std::process::id()).filter(lives).collect()
}
