//! Places for archives that live as long as an answer.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// A directory of this process that only its user can read, made when it is first needed.
#[derive(Debug)]
pub struct Temporary {
    directory: PathBuf,
    made: OnceLock<Result<(), io::ErrorKind>>,
    places: AtomicU32,
}

impl Temporary {
    pub fn of_process() -> Self {
        let name = format!("tardy-mcp-{}", std::process::id());
        Self { directory: std::env::temp_dir().join(name), made: OnceLock::new(), places: AtomicU32::new(0) }
    }

    /// A path at which nothing is yet.
    ///
    /// # Errors
    /// If the directory cannot be made, also because another user made it.
    pub fn place(&self) -> io::Result<Place> {
        let make = || DirBuilder::new().mode(0o700).create(&self.directory).map_err(|error| error.kind());
        (*self.made.get_or_init(make))?;
        let number = self.places.fetch_add(1, Ordering::Relaxed);
        Ok(Place(self.directory.join(number.to_string())))
    }

    /// Removes everything.
    pub fn remove(&self) {
        if self.made.get().is_some_and(Result::is_ok) {
            let _ = fs::remove_dir_all(&self.directory);
        }
    }
}

/// A path whose contents are removed at the end.
#[derive(Debug)]
pub struct Place(PathBuf);

impl Place {
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let is_directory = self.0.is_dir();
        let _ = if is_directory { fs::remove_dir_all(&self.0) } else { fs::remove_file(&self.0) };
    }
}
