//! The archives below the directory of the lab, as far as the server knows them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;
use store::StoreError;

/// The file that is written first and last.
const MANIFEST: &str = "manifest.json";

/// When the manifest of an archive was written last, and its length: an archive with the same stamp is not read again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp(Option<SystemTime>, u64);

impl Stamp {
    pub fn of(archive: &Path) -> Self {
        let manifest = std::fs::symlink_metadata(archive.join(MANIFEST)).ok();
        Self(manifest.as_ref().and_then(|of| of.modified().ok()), manifest.map_or(0, |of| of.len()))
    }
}

/// The archives that were read, and those that could not be.
#[derive(Debug, Default)]
pub struct KnownArchives(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    seen: BTreeMap<PathBuf, Stamp>,
    /// Archives that cannot be read, with the reason.
    left_out: BTreeMap<PathBuf, String>,
    /// Archives that are still to be added.
    waiting: usize,
}

/// How far the index has got, for pages.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Progress {
    pub waiting: usize,
    pub left_out: Vec<(String, String)>,
}

impl KnownArchives {
    /// Forgets archives that are gone, and returns those that are new or have changed.
    pub fn changed(&self, found: Vec<PathBuf>) -> Vec<(PathBuf, Stamp)> {
        let stamped: Vec<(PathBuf, Stamp)> = found.into_iter().map(|path| (path.clone(), Stamp::of(&path))).collect();
        let mut known = self.locked();
        known.left_out.retain(|path, _| stamped.iter().any(|(found, _)| found == path));
        stamped.into_iter().filter(|(path, stamp)| known.seen.get(path) != Some(stamp)).collect()
    }

    pub fn set_waiting(&self, waiting: usize) {
        self.locked().waiting = waiting;
    }

    pub fn added(&self, archive: &Path, stamp: Stamp) {
        let mut known = self.locked();
        known.left_out.remove(archive);
        known.seen.insert(archive.to_owned(), stamp);
    }

    /// Leaves an archive out. The disk or the database may answer at the next look; a damaged archive stays damaged.
    pub fn failed(&self, archive: &Path, stamp: Stamp, error: &StoreError) {
        let mut known = self.locked();
        known.left_out.insert(archive.to_owned(), error.to_string());
        if matches!(error, StoreError::Archive(_)) {
            known.seen.insert(archive.to_owned(), stamp);
        }
    }

    /// Archives that are still to be added, and those that cannot be.
    pub fn progress(&self) -> Progress {
        let known = self.locked();
        let left_out = known.left_out.iter().map(|(path, because)| (path.display().to_string(), because.clone()));
        Progress { waiting: known.waiting, left_out: left_out.collect() }
    }

    fn locked(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
