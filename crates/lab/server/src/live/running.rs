//! The runs in progress by name, and the readers that share one look at an archive.

use super::LiveRun;
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;

/// The states of a run, as its archive grows; `None` before the first look.
pub type States = watch::Receiver<Option<Arc<LiveRun>>>;
/// Sends the states of a run to all its readers.
pub type StateSender = watch::Sender<Option<Arc<LiveRun>>>;

/// The runs in progress, and the states of each run that has readers.
#[derive(Debug, Default)]
pub struct RunningRuns {
    running: Mutex<BTreeMap<String, PathBuf>>,
    read: Mutex<HashMap<String, States>>,
}

impl RunningRuns {
    /// Adds a run in progress.
    pub fn add(&self, directory: &Path, path: &Path) {
        locked(&self.running).insert(name(directory, path), path.to_owned());
    }

    /// Replaces the runs in progress.
    pub fn set(&self, directory: &Path, running: impl Iterator<Item = PathBuf>) {
        let named = running.map(|path| (name(directory, &path), path));
        *locked(&self.running) = named.collect();
    }

    /// Names of the runs in progress.
    pub fn names(&self) -> Vec<String> {
        locked(&self.running).keys().cloned().collect()
    }

    /// The name of a run in progress below a directory.
    pub fn name_below(&self, directory: &Path) -> Option<String> {
        let running = locked(&self.running);
        running.iter().find(|(_, path)| path.starts_with(directory)).map(|(name, _)| name.clone())
    }

    /// The archive of a run in progress.
    pub fn archive(&self, name: &str) -> Option<PathBuf> {
        locked(&self.running).get(name).cloned()
    }

    /// The states of a run, and for its first reader the sender of them.
    pub fn states(&self, name: &str) -> (States, Option<StateSender>) {
        let mut read = locked(&self.read);
        if let Some(states) = read.get(name) {
            return (states.clone(), None);
        }
        let (sender, states) = watch::channel(None);
        read.insert(name.to_owned(), states.clone());
        (states, Some(sender))
    }

    /// Forgets the states of a run that nobody reads any more, and returns whether it did.
    pub fn forget_unread(&self, name: &str, sender: &StateSender) -> bool {
        let mut read = locked(&self.read);
        // The map has one receiver; under its lock no other can be made.
        let unread = sender.receiver_count() <= 1;
        if unread {
            read.remove(name);
        }
        unread
    }

    /// Forgets the states of a run that has ended.
    pub fn forget(&self, name: &str) {
        locked(&self.read).remove(name);
    }
}

/// The name of an archive in addresses: no path comes from a request.
fn name(directory: &Path, archive: &Path) -> String {
    let inside = archive.strip_prefix(directory).unwrap_or(archive);
    let digest = Sha256::digest(inside.as_os_str().as_encoded_bytes());
    digest[..8].iter().map(|byte| format!("{byte:02x}")).collect()
}

fn locked<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}
