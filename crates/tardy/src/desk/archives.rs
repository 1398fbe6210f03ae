//! Which archives belong to a running desk: a killed one leaves an archive that nobody asked to keep, and the next desk removes it.

use crate::archives::is_archive;
use anyhow::Context;
use rustix::fs::{FlockOperation, flock};
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};

/// Ends the name of the mark of an archive. Its process holds a lock on it.
const MARK: &str = "desk";
/// Ends the name of a copy of an archive.
pub const COPY: &str = "shared";
const KEPT: &str = "kept";
const KEPT_BYTES_MAX: u64 = 16;

/// A hidden name beside an archive, so that nobody takes it for another run.
pub fn hidden(archive: &Path, ending: &str) -> PathBuf {
    let name = archive.file_name().unwrap_or_default().to_string_lossy();
    archive.with_file_name(format!(".{name}.{ending}"))
}

/// The mark of an archive that a desk of this process writes; removed when this is dropped.
pub struct Own {
    path: PathBuf,
    file: File,
}

impl Own {
    /// # Errors
    /// If the mark cannot be made.
    pub fn mark(archive: &Path, keeps: bool) -> anyhow::Result<Self> {
        let path = hidden(archive, MARK);
        let made = OpenOptions::new().write(true).create_new(true).open(&path);
        let file = made.with_context(|| format!("failed to make {}", path.display()))?;
        let mut own = Self { path, file };
        flock(&own.file, FlockOperation::NonBlockingLockExclusive).context("failed to lock the mark of the archive")?;
        own.keep(keeps);
        Ok(own)
    }

    /// Notes whether the archive stays even if this process is killed.
    pub fn keep(&mut self, keeps: bool) {
        let text = if keeps { KEPT } else { "" };
        let noted =
            self.file.set_len(0).and_then(|()| self.file.rewind()).and_then(|()| self.file.write_all(text.as_bytes()));
        if let Err(error) = noted {
            complain!("tardy desk: failed to write {}: {error}", self.path.display());
        }
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// Removes what desks left whose processes were killed: copies, and archives that nobody asked to keep.
pub fn remove_leftovers(directory: &Path) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let marked = name.strip_prefix('.').and_then(|name| name.strip_suffix(MARK)?.strip_suffix('.'));
        // No name of a run begins with a dot; `..` is another directory.
        let Some(archive) = marked.filter(|name| !name.is_empty() && !name.starts_with('.')) else { continue };
        let archive = directory.join(archive);
        let Ok(mut mark) = File::open(entry.path()) else { continue };
        if flock(&mark, FlockOperation::NonBlockingLockExclusive).is_err() {
            continue;
        }
        let _ = fs::remove_dir_all(hidden(&archive, COPY));
        let mut text = String::new();
        let is_kept = (&mut mark).take(KEPT_BYTES_MAX).read_to_string(&mut text).is_err() || text == KEPT;
        let removed = match (is_kept, is_archive(&archive)) {
            (true, _) => Ok(()),
            (false, true) => fs::remove_dir_all(&archive),
            // It was killed before it wrote anything.
            (false, false) => fs::remove_dir(&archive).or(Ok(())),
        };
        match removed {
            Ok(()) => drop(fs::remove_file(entry.path())),
            Err(error) => complain!("tardy desk: failed to remove {}: {error}", archive.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn archive(place: &Path, name: &str) -> PathBuf {
        let archive = place.join(name);
        fs::create_dir(&archive).unwrap();
        fs::write(archive.join("stream.tardy"), "").unwrap();
        archive
    }

    /// Its process was killed: the mark stays, without a lock.
    fn killed(archive: &Path, keeps: bool) {
        let own = Own::mark(archive, keeps).unwrap();
        let text = fs::read(&own.path).unwrap();
        let path = own.path.clone();
        drop(own);
        fs::write(path, text).unwrap();
    }

    #[test]
    fn the_archive_of_a_killed_desk_goes_and_every_other_one_stays() {
        let place = tempfile::tempdir().unwrap();
        let [left, kept, foreign, written] =
            ["left", "kept", "foreign", "written"].map(|name| archive(place.path(), name));
        killed(&left, false);
        fs::create_dir(hidden(&left, COPY)).unwrap();
        killed(&kept, true);
        let own = Own::mark(&written, false).unwrap();
        for of_no_run in ["..desk", "...desk", "....desk"] {
            fs::write(place.path().join(of_no_run), "").unwrap();
        }
        fs::write(place.path().join("stream.tardy"), "").unwrap();
        remove_leftovers(place.path());
        assert!(!left.exists() && !hidden(&left, COPY).exists() && !hidden(&left, MARK).exists());
        assert!(kept.exists() && foreign.exists() && written.exists());
        assert!(!hidden(&kept, MARK).exists() && hidden(&written, MARK).exists());
        drop(own);
        assert!(written.exists() && !hidden(&written, MARK).exists());
    }

    #[test]
    fn keeping_is_remembered_by_the_mark_until_it_is_taken_back() {
        let place = tempfile::tempdir().unwrap();
        let one = archive(place.path(), "one");
        let mut own = Own::mark(&one, false).unwrap();
        own.keep(true);
        assert_eq!(fs::read_to_string(hidden(&one, MARK)).unwrap(), KEPT);
        own.keep(false);
        assert_eq!(fs::read_to_string(hidden(&one, MARK)).unwrap(), "");
    }
}
