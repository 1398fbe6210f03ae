//! Finds the flight recorder, the QEMU plugin that records virtual time.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// File name of the recorder.
pub const RECORDER_NAME: &str = "libflight_recorder.so";
/// Environment variable with the path of a recorder.
pub const RECORDER_VARIABLE: &str = "TARDY_FLIGHT_RECORDER";
/// Its name in earlier versions.
const FORMER_VARIABLE: &str = "TARDY_RECORDER";
/// Directories to search, relative to that of the program: its own, and those of libraries.
const FOLDERS: [&str; 3] = [".", "../lib", "../lib/tardy"];

/// Why there is no recorder to load.
#[derive(Debug, Error)]
pub enum RecorderError {
    #[error(
        "failed to find {RECORDER_NAME}: {RECORDER_VARIABLE} names {0}, which is not a file; correct it or unset it"
    )]
    Named(PathBuf),
    #[error(
        "failed to find {RECORDER_NAME}: it is neither beside this program nor in ../lib; `make build` builds it, or name \
         one with {RECORDER_VARIABLE}"
    )]
    Missing,
}

/// Where a recorder may be.
#[derive(Debug, Clone, Default)]
pub struct RecorderPlaces {
    /// Value of [`RECORDER_VARIABLE`].
    pub named: Option<OsString>,
    /// The running program.
    pub executable: Option<PathBuf>,
}

impl RecorderPlaces {
    /// The places of this process.
    pub fn of_process() -> Self {
        Self {
            named: [RECORDER_VARIABLE, FORMER_VARIABLE]
                .into_iter()
                .find_map(|name| env::var_os(name).filter(|value| !value.is_empty())),
            executable: env::current_exe().ok(),
        }
    }

    /// The absolute path of the recorder.
    ///
    /// # Errors
    /// [`RecorderError`], which states what to do.
    pub fn find(&self) -> Result<PathBuf, RecorderError> {
        if let Some(named) = &self.named {
            let path = PathBuf::from(named);
            return path.is_file().then(|| absolute(&path)).ok_or(RecorderError::Named(path));
        }
        let folder = self.executable.as_deref().and_then(Path::parent);
        let mut places = FOLDERS.iter().filter_map(|place| Some(folder?.join(place).join(RECORDER_NAME)));
        places.find(|path| path.is_file()).map(|path| absolute(&path)).ok_or(RecorderError::Missing)
    }
}

/// QEMU searches a plugin without a slash among the system's libraries.
fn absolute(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn it_is_beside_the_program_or_where_libraries_are_unless_named() {
        let folder = tempfile::tempdir().unwrap();
        let (programs, libraries) = (folder.path().join("bin"), folder.path().join("lib"));
        fs::create_dir(&programs).unwrap();
        fs::create_dir(&libraries).unwrap();
        let mut places = RecorderPlaces { named: None, executable: Some(programs.join("tardy")) };
        assert!(places.find().unwrap_err().to_string().contains("make build"));
        fs::write(libraries.join(RECORDER_NAME), "").unwrap();
        assert_eq!(places.find().unwrap(), libraries.canonicalize().unwrap().join(RECORDER_NAME));
        fs::write(programs.join(RECORDER_NAME), "").unwrap();
        assert_eq!(places.find().unwrap(), programs.canonicalize().unwrap().join(RECORDER_NAME));
        places.named = Some(folder.path().join("absent.so").into());
        assert!(places.find().unwrap_err().to_string().contains("absent.so"));
    }
}
