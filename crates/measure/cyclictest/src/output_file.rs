//! A result file that is either complete or absent: written next to its destination, then renamed.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Why a result file cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum OutputError {
    #[error("{} cannot be written: {source}; name a file in a directory that exists and may be written", path.display())]
    Create { path: PathBuf, source: io::Error },
    #[error("{} could not be written: {source}; free some space and measure again", path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error("{path} cannot be made a pipe: {source}; name a path that does not exist yet (-F)")]
    Fifo { path: String, source: io::Error },
}

/// A file not yet at its destination.
#[derive(Debug)]
pub struct OutputFile {
    place: PathBuf,
    beside: PathBuf,
    file: File,
    direct: bool,
}

impl OutputFile {
    /// Creates the file next to its destination, so that an unwritable destination is known before the measurement.
    ///
    /// # Errors
    /// An unwritable destination.
    pub fn prepare(place: &str) -> Result<Self, OutputError> {
        let place = PathBuf::from(place);
        let fail = |source| OutputError::Create { path: place.clone(), source };
        // A device or a pipe cannot be replaced, only written to.
        let kind = fs::metadata(&place).ok();
        if kind.as_ref().is_some_and(fs::Metadata::is_dir) {
            return Err(fail(io::Error::from(io::ErrorKind::IsADirectory)));
        }
        let direct = kind.is_some_and(|kind| !kind.is_file());
        if !direct {
            return Self::replacing(place);
        }
        let file = OpenOptions::new().write(true).open(&place).map_err(fail)?;
        Ok(Self { beside: place.clone(), place, file, direct })
    }

    /// The same for a destination in a directory that may be world-writable: no link is followed, neither at the
    /// destination nor next to it.
    ///
    /// # Errors
    /// An unwritable destination.
    pub fn replacing(place: PathBuf) -> Result<Self, OutputError> {
        let beside = beside(&place);
        let fail = |source| OutputError::Create { path: place.clone(), source };
        let create = || OpenOptions::new().write(true).create_new(true).mode(0o644).open(&beside);
        let created = create().or_else(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => fs::remove_file(&beside).and_then(|()| create()),
            _ => Err(error),
        });
        let file = created.map_err(fail)?;
        Ok(Self { place, beside, file, direct: false })
    }

    /// Writes the whole content and renames the file to its destination.
    ///
    /// # Errors
    /// The error of the file system.
    pub fn finish(mut self, content: &[u8]) -> Result<(), OutputError> {
        let written = self
            .file
            .write_all(content)
            .and_then(|()| if self.direct { Ok(()) } else { fs::rename(&self.beside, &self.place) });
        let answer = written.map_err(|source| OutputError::Write { path: self.place.clone(), source });
        if answer.is_ok() {
            self.direct = true;
        }
        answer
    }
}

impl Drop for OutputFile {
    fn drop(&mut self) {
        if !self.direct {
            let _ = fs::remove_file(&self.beside);
        }
    }
}

fn beside(place: &Path) -> PathBuf {
    let name = place.file_name().unwrap_or_default().to_string_lossy();
    place.with_file_name(format!(".{name}.{}.part", std::process::id()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_appears_whole_or_not_at_all() {
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path().join("result.json");
        fs::write(&place, "old").unwrap();
        drop(OutputFile::prepare(place.to_str().unwrap()).unwrap());
        assert_eq!(fs::read_to_string(&place).unwrap(), "old");
        OutputFile::prepare(place.to_str().unwrap()).unwrap().finish(b"new").unwrap();
        assert_eq!(fs::read_to_string(&place).unwrap(), "new");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[test]
    fn planted_links_are_replaced_and_what_they_lead_to_stays() {
        let directory = tempfile::tempdir().unwrap();
        let (place, victim) = (directory.path().join("cyclictest1"), directory.path().join("victim"));
        fs::write(&victim, "kept").unwrap();
        std::os::unix::fs::symlink(&victim, &place).unwrap();
        std::os::unix::fs::symlink(&victim, beside(&place)).unwrap();
        OutputFile::replacing(place.clone()).unwrap().finish(b"new").unwrap();
        assert_eq!(
            (fs::read_to_string(&place).unwrap(), fs::read_to_string(&victim).unwrap()),
            ("new".into(), "kept".into())
        );
    }

    #[test]
    fn a_place_that_cannot_be_written_is_known_at_once() {
        let directory = tempfile::tempdir().unwrap();
        assert!(OutputFile::prepare("/nonexistent/x").unwrap_err().to_string().contains("/nonexistent/x"));
        assert!(OutputFile::prepare(directory.path().to_str().unwrap()).is_err());
        OutputFile::prepare("/dev/null").unwrap().finish(b"x").unwrap();
        assert!(Path::new("/dev/null").exists());
    }
}
