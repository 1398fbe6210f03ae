//! The directories below which a client reaches archives and files.

use super::problem::RequestProblem;
use crate::archives::{LATEST, latest};
use crate::exit::UsageError;
use std::path::{Component, Path, PathBuf};
use words::printable::{printable, short_name};

#[derive(Debug)]
pub struct Directories(Vec<PathBuf>);

impl Directories {
    /// # Errors
    /// If one of them is no directory; the directory of runs need not exist before the first run.
    pub fn new(named: &[PathBuf], of_runs: &Path) -> Result<Self, UsageError> {
        match named.iter().find(|path| !path.is_dir() && *path != of_runs) {
            Some(path) => Err(UsageError(format!("failed to serve {}: there is no such directory", path.display()))),
            None => Ok(Self(named.to_vec())),
        }
    }

    pub fn all(&self) -> &[PathBuf] {
        &self.0
    }

    /// The path that a client means, relative to a directory or below one; the newest run for `latest`.
    ///
    /// # Errors
    /// If it is outside of all directories, or does not exist.
    pub fn resolve(&self, text: &str) -> Result<PathBuf, RequestProblem> {
        if text == LATEST {
            let newest = self.0.iter().find_map(|directory| latest(directory).ok());
            return newest.ok_or_else(|| self.no_such(text));
        }
        let path = Path::new(text);
        if path.components().any(|part| part == Component::ParentDir) {
            return Err(self.outside());
        }
        let candidates: Vec<PathBuf> = self.0.iter().filter_map(|directory| candidate(directory, path)).collect();
        if candidates.is_empty() {
            return Err(self.outside());
        }
        let found = candidates.into_iter().find_map(|path| Some((path.canonicalize().ok()?, path)));
        match found {
            None => Err(self.no_such(text)),
            // A link may lead out.
            Some((real, _)) if !self.holds(&real) => Err(self.outside()),
            Some((_, path)) => Ok(path),
        }
    }

    fn holds(&self, real: &Path) -> bool {
        self.0.iter().any(|directory| directory.canonicalize().is_ok_and(|directory| real.starts_with(directory)))
    }

    fn outside(&self) -> RequestProblem {
        RequestProblem::Outside { directories: self.in_words() }
    }

    fn no_such(&self, text: &str) -> RequestProblem {
        RequestProblem::NoSuchPath { name: printable(&short_name(text)), directories: self.in_words() }
    }

    fn in_words(&self) -> String {
        let names: Vec<String> = self.0.iter().map(|path| printable(&path.display().to_string())).collect();
        names.join(", ")
    }
}

/// The path below a directory; `None` without a look at the disk if it cannot be there.
fn candidate(directory: &Path, path: &Path) -> Option<PathBuf> {
    let here = directory.canonicalize().unwrap_or_else(|_| directory.to_owned());
    let is_below = path.starts_with(directory) || path.starts_with(here);
    match (is_below, path.is_absolute()) {
        (true, _) => Some(path.to_owned()),
        (false, true) => None,
        (false, false) => Some(directory.join(path)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn nothing_outside_of_the_directories_is_reached() {
        let folder = tempfile::tempdir().unwrap();
        let (inside, outside) = (folder.path().join("runs"), folder.path().join("other"));
        fs::create_dir_all(inside.join("a")).unwrap();
        fs::create_dir_all(outside.join("b")).unwrap();
        symlink(&outside, inside.join("link")).unwrap();
        let directories = Directories::new(std::slice::from_ref(&inside), &inside).unwrap();
        let absolute = inside.join("a").display().to_string();
        assert_eq!(directories.resolve("a"), Ok(inside.join("a")));
        assert_eq!(directories.resolve(&absolute), Ok(inside.join("a")));
        let there = outside.join("b").display().to_string();
        for text in ["link", "link/b", "../other/b", "a/../../other", "/", &there, "/etc/passwd"] {
            assert!(matches!(directories.resolve(text), Err(RequestProblem::Outside { .. })), "{text}");
        }
        for text in ["c", "runs/a\u{1b}[2J"] {
            let refused = directories.resolve(text).unwrap_err();
            assert!(matches!(refused, RequestProblem::NoSuchPath { .. }), "{text}");
            assert!(!refused.to_string().contains('\u{1b}'));
        }
    }

    #[test]
    fn a_directory_that_is_not_there_is_refused_unless_it_holds_the_runs() {
        let of_runs = Path::new("no-such-directory");
        assert!(Directories::new(&[of_runs.to_owned()], of_runs).is_ok());
        assert!(Directories::new(&[of_runs.to_owned()], Path::new("runs")).is_err());
    }
}
