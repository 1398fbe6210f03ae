//! Finds a shared library of this project: beside the program, or where libraries are.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Directories to search, relative to that of the program: its own, and those of libraries.
const FOLDERS: [&str; 3] = [".", "../lib", "../lib/tardy"];

/// A library and the environment variable that may name it.
#[derive(Debug, Clone, Copy)]
pub struct Library {
    pub file_name: &'static str,
    pub variable: &'static str,
}

/// The library that records the calls of the program into which it is loaded.
pub const INTERCEPTION: Library = Library { file_name: "libinterception.so", variable: "TARDY_INTERCEPTION_LIBRARY" };

/// Why there is no library to load.
#[derive(Debug, Error)]
pub enum LibraryError {
    #[error("failed to find {file_name}: {variable} names {path}, which is not a file; correct it or unset it")]
    Named { file_name: &'static str, variable: &'static str, path: PathBuf },
    #[error(
        "failed to find {file_name}: it is neither beside this program nor in ../lib; `make build` builds it, or name \
         one with {variable}"
    )]
    Missing { file_name: &'static str, variable: &'static str },
}

/// Where a library may be.
#[derive(Debug, Clone, Default)]
pub struct LibraryPlaces {
    /// Value of the variable.
    pub named: Option<OsString>,
    /// The running program.
    pub executable: Option<PathBuf>,
}

impl Library {
    /// The absolute path of the library for this process.
    ///
    /// # Errors
    /// [`LibraryError`], which states what to do.
    pub fn find(self) -> Result<PathBuf, LibraryError> {
        let named = env::var_os(self.variable).filter(|value| !value.is_empty());
        self.find_in(&LibraryPlaces { named, executable: env::current_exe().ok() })
    }

    /// As [`Library::find`], in these places.
    ///
    /// # Errors
    /// [`LibraryError`].
    pub fn find_in(self, places: &LibraryPlaces) -> Result<PathBuf, LibraryError> {
        let Self { file_name, variable } = self;
        if let Some(named) = &places.named {
            let path = PathBuf::from(named);
            return path.is_file().then(|| absolute(&path)).ok_or(LibraryError::Named { file_name, variable, path });
        }
        let folder = places.executable.as_deref().and_then(Path::parent);
        let mut paths = FOLDERS.iter().filter_map(|place| Some(folder?.join(place).join(file_name)));
        paths
            .find(|path| path.is_file())
            .map(|path| absolute(&path))
            .ok_or(LibraryError::Missing { file_name, variable })
    }
}

/// A library without a slash is searched among those of the system.
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
        let library = Library { file_name: "libx.so", variable: "X" };
        let mut places = LibraryPlaces { named: None, executable: Some(programs.join("tardy")) };
        assert!(library.find_in(&places).unwrap_err().to_string().contains("make build"));
        fs::write(libraries.join("libx.so"), "").unwrap();
        assert_eq!(library.find_in(&places).unwrap(), libraries.canonicalize().unwrap().join("libx.so"));
        fs::write(programs.join("libx.so"), "").unwrap();
        assert_eq!(library.find_in(&places).unwrap(), programs.canonicalize().unwrap().join("libx.so"));
        places.named = Some(folder.path().join("absent.so").into());
        assert!(library.find_in(&places).unwrap_err().to_string().contains("absent.so"));
    }
}
